//! The folder that commands run in, or the folders, where that depends on what succeeds.

use super::place::normal;
use super::walk::{MOST_VALUES, Setting, Walk};
use crate::policy::shell::{Field, Values};
use std::path::{Path, PathBuf};

impl Walk<'_> {
    /// Changes the folder. What is joined by `&&` runs only where that succeeded; what comes later may run in either.
    pub(super) fn change_folder(&mut self, target: Option<&Field>, setting: &Setting) {
        self.spend(self.cwd.iter().flatten().map(|folder| 8 * folder.as_os_str().len()).sum());
        if self.found.is_some() {
            return;
        }
        let home = self.place.home.clone().map(|home| Field::of(&home));
        let path = target.cloned().or(home).and_then(|field| field.literal());
        let before = self.cwd.clone();
        self.been.extend(before.into_iter().flatten());
        self.been.sort();
        self.been.dedup();
        self.been.truncate(MOST_VALUES);
        let new = match path.as_deref() {
            // Back to where it was before, of which the order is not kept.
            Some("-") => self.been.iter().cloned().map(Some).collect(),
            Some(path) => {
                let search = self.parameter("CDPATH").into_iter().flatten().flatten();
                let own = setting.variables.iter().filter(|(name, _)| name == "CDPATH");
                let own = own.filter_map(|(_, value)| value.clone()).flatten();
                let search: Vec<String> = search.chain(own).filter_map(|field| field.literal()).collect();
                let places = search.iter().flat_map(|list| list.split(':'));
                let places: Vec<String> = places.map(|place| format!("{place}/{path}")).collect();
                let all = || places.iter().map(String::as_str).chain([path]);
                self.cwd.iter().flat_map(|base| all().map(|path| joined(base.as_deref(), path))).collect()
            }
            None => vec![None],
        };
        let old = std::mem::replace(&mut self.cwd, new);
        let there = self.cwd.iter().all(|folder| {
            folder.as_ref().is_some_and(|folder| self.place.is_folder(folder) || self.made.contains(folder))
        });
        if !setting.sure && !setting.chained && !setting.leads {
            self.cwd.extend(old);
        } else if !(setting.sure && there) {
            self.left.extend(old);
        }
        self.settle();
    }

    /// Keeps the folders few and different.
    pub(super) fn settle(&mut self) {
        self.cwd.sort();
        self.cwd.dedup();
        if self.cwd.len() > MOST_VALUES {
            self.cwd = vec![None];
        }
    }

    /// Does something in another folder.
    pub(super) fn within(&mut self, folder: Option<&Field>, act: impl FnOnce(&mut Self)) {
        let Some(folder) = folder else { return act(self) };
        let path = folder.literal();
        let moved = self
            .cwd
            .iter()
            .map(|base| path.as_ref().and_then(|path| joined(base.as_deref(), path)))
            .collect();
        let before = std::mem::replace(&mut self.cwd, moved);
        act(self);
        self.cwd = before;
    }
}

fn joined(base: Option<&Path>, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if path.is_absolute() { Some(normal(path)) } else { base.map(|base| normal(&base.join(path))) }
}
