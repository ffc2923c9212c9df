//! Sorting by one sort for all types.
//!
//! The standard library's is compiled anew for each type and each order, 4 to 8 KB a time, and collecting into a
//! `BTreeMap` or `BTreeSet` (not extending one) is such a sort too. Here only places are sorted; what stands there is
//! then moved once. That costs a call for each comparison, so what is sorted in a hot loop is not for here.

use std::cmp::Ordering;

/// Sorts; equal items keep their order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts by a key, which is taken for each comparison; equal items keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by an order; equal items keep theirs.
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut places = sorted(items.len(), &|a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => order(a, b),
        _ => Ordering::Equal,
    });
    move_from(&mut places, &mut |a, b| items.swap(a, b));
}

/// The places up to `count`, sorted by what stands there.
fn sorted(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&a, &b| order(a, b));
    places
}

/// Brings to each place what stood at `places` of it. What stood at a place already filled has been swapped away: to the
/// place that this one was filled from.
fn move_from(places: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for at in 0..places.len() {
        let mut from = at;
        loop {
            from = places.get(from).copied().unwrap_or(at);
            if from >= at {
                break;
            }
        }
        if let Some(place) = places.get_mut(at) {
            *place = from;
        }
        swap(at, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_come_in_the_order_of_the_standard_sort(
            items in prop::collection::vec((0..9u8, any::<u16>()), 0..200),
        ) {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by_key(&mut ours, |item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &theirs);
            sort(&mut ours);
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }
    }
}
