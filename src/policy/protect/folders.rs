//! The folder that commands run in, or the folders, where that depends on what succeeds.

use super::place::normal;
use super::walk::{MOST_VALUES, Setting, Walk};
use crate::policy::shell::Field;
use std::path::{Path, PathBuf};

impl Walk<'_> {
    /// Changes the folder. What is joined by `&&` runs only where that succeeded; what comes later may run in either.
    pub(super) fn change_folder(&mut self, target: Option<&Field>, setting: &Setting) {
        self.spend(self.cwd.iter().flatten().map(|folder| 8 * folder.as_os_str().len()).sum());
        if self.found.is_some() {
            return;
        }
        let home = self.place.home.clone().map(|home| Field::of(&home));
        let path = target.cloned().or(home).and_then(|field| field.literal()).filter(|path| path != "-");
        let new = self
            .cwd
            .iter()
            .map(|base| path.as_ref().and_then(|path| joined(base.as_deref(), path)))
            .collect();
        let old = std::mem::replace(&mut self.cwd, new);
        let there =
            self.cwd.iter().all(|folder| folder.as_ref().is_some_and(|folder| self.place.is_folder(folder)));
        if !setting.sure && !setting.chained {
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
