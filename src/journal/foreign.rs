//! Reading foreign JSON field by field: a value of the wrong type costs that field, never the line.
//!
//! Transcripts and hook payloads are written by other programs in many versions; the only field that may condemn a
//! line is a counter that is not a count ([`Count`]), because a guess there would be money.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A string, else `None`.
///
/// # Errors
/// When the value is not JSON.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    wanted(from)
}

/// A string of one's own, for what is read from a stream; else `None`.
///
/// # Errors
/// When the value is not JSON.
pub fn own_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    text(from).map(|text| text.map(Cow::into_owned))
}

/// A boolean, else `false`.
///
/// # Errors
/// When the value is not JSON.
pub fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    wanted(from).map(Option::unwrap_or_default)
}

/// An object, else `None`.
///
/// # Errors
/// When the value is not JSON.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    wanted(from).map(|object: Option<Object<T>>| object.map(|Object(object)| object))
}

/// The objects of an array; elements of other types are passed over, and so is a value that is no array.
///
/// # Errors
/// When the value is not JSON.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    wanted(from).map(Option::unwrap_or_default)
}

/// A value of the type that `W` wants, else `None`.
///
/// # Errors
/// When the value is not JSON.
pub fn wanted<'de, D: Deserializer<'de>, W: Wants<'de>>(from: D) -> Result<Option<W>, D::Error> {
    from.deserialize_any(Lenient::<W>::new())
}

/// A whole document that is an object. An array of fields in their order, which serde takes for a struct too, is none.
///
/// # Errors
/// When it is not JSON, or another JSON value.
pub fn document<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, serde_json::Error> {
    let Maybe(object) = serde_json::from_slice(json)?;
    object.ok_or_else(|| serde::de::Error::custom("not a JSON object"))
}

/// The largest count that a single call can plausibly have; a larger one is a broken line.
pub const MAX_COUNT: i64 = 1_000_000_000_000;

/// A counter: a whole number from 0 to [`MAX_COUNT`]; absent and null are 0; all else is not a count.
#[derive(Debug, Clone, Copy)]
pub struct Count(Option<i64>);

/// A counter that is a string, a fraction, negative or beyond all reason.
#[derive(Debug)]
pub struct NotACount;

impl Default for Count {
    fn default() -> Self {
        Self(Some(0))
    }
}

impl Count {
    /// The count.
    ///
    /// # Errors
    /// When the value is not a count.
    pub fn get(self) -> Result<i64, NotACount> {
        self.0.filter(|count| (0..=MAX_COUNT).contains(count)).ok_or(NotACount)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number: Option<Number> = wanted(from)?;
        Ok(Self(number.and_then(|Number(value)| value)))
    }
}

/// Which JSON type a lenient field wants; every other type is passed over.
pub trait Wants<'de>: Sized {
    /// Takes a string.
    fn text(_: Cow<'de, str>) -> Option<Self> {
        None
    }
    /// Takes a boolean.
    fn flag(_: bool) -> Option<Self> {
        None
    }
    /// Takes a number; `None` when it is not a whole one in range.
    fn number(_: Option<i64>) -> Option<Self> {
        None
    }
    /// Takes a number as it is.
    fn real(_: f64) -> Option<Self> {
        None
    }
    /// Takes a null.
    fn null() -> Option<Self> {
        None
    }
    /// Takes an object.
    ///
    /// # Errors
    /// When it is not JSON.
    fn object<A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        pass_over(map).map(|()| None)
    }
    /// Takes an array.
    ///
    /// # Errors
    /// When it is not JSON.
    fn array<A: SeqAccess<'de>>(seq: A) -> Result<Option<Self>, A::Error> {
        pass_over_all(seq).map(|()| None)
    }
}

impl<'de> Wants<'de> for Cow<'de, str> {
    fn text(text: Self) -> Option<Self> {
        Some(text)
    }
}

impl Wants<'_> for bool {
    fn flag(value: bool) -> Option<Self> {
        Some(value)
    }
}

impl Wants<'_> for f64 {
    fn real(value: f64) -> Option<Self> {
        Some(value)
    }
}

/// A whole number, else `None`.
///
/// # Errors
/// When the value is not JSON.
pub fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    wanted(from).map(|number: Option<Whole>| number.map(|Whole(value)| value))
}

struct Whole(i64);

impl Wants<'_> for Whole {
    fn number(value: Option<i64>) -> Option<Self> {
        value.map(Self)
    }
}

struct Number(Option<i64>);

impl Wants<'_> for Number {
    fn number(value: Option<i64>) -> Option<Self> {
        Some(Self(value))
    }
    fn null() -> Option<Self> {
        Some(Self(Some(0)))
    }
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Wants<'de> for Object<T> {
    fn object<A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Some(Self(object)))
    }
}

impl<'de, T: Deserialize<'de>> Wants<'de> for Vec<T> {
    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        let mut all = vec![];
        while let Some(Maybe(one)) = seq.next_element::<Maybe<T>>()? {
            all.extend(one);
        }
        Ok(Some(all))
    }
}

/// An element of an array that counts only if it is an object.
pub struct Maybe<T>(pub Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        object(from).map(Self)
    }
}

/// Consumes an object that nobody wants. Not inlined: once for all that do not want it.
#[inline(never)]
fn pass_over<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// As [`pass_over`], an array.
#[inline(never)]
fn pass_over_all<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Takes a value of the wanted JSON type and passes over any other.
struct Lenient<W>(PhantomData<W>);

impl<W> Lenient<W> {
    fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, W: Wants<'de>> Visitor<'de> for Lenient<W> {
    type Value = Option<W>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any JSON value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(W::flag(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(W::number(Some(value)).or_else(|| W::real(value as f64)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(W::number(i64::try_from(value).ok()).or_else(|| W::real(value as f64)))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        let whole = value.fract() == 0.0 && (0.0..=MAX_COUNT as f64).contains(&value);
        Ok(W::number(whole.then_some(value as i64)).or_else(|| W::real(value)))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(W::text(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(W::text(Cow::Owned(value.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(W::null())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        W::object(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        W::array(seq)
    }
}
