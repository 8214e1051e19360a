//! The folder that is served, and files opened below it and nowhere else.

use std::{
    fs::File,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use anyhow::Context as _;
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2},
    io::Errno,
};

use crate::target::NoFile;

/// A served folder.
pub(crate) struct Folder {
    directory: OwnedFd,
    /// Whether the kernel has `openat2` (Linux 5.6).
    openat2: bool,
}

/// An open regular file.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

/// `NONBLOCK` only matters for a FIFO, which must not hold us up before we see that it is one.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How often the kernel is asked again when a rename elsewhere disturbed it (openat2(2), EAGAIN).
const ATTEMPTS: usize = 8;

impl Folder {
    /// Opens the folder. Renaming it later changes nothing.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())
            .with_context(|| format!("cannot open the data folder {}", path.display()))?;
        let probe = openat2(&directory, ".", flags, Mode::empty(), ResolveFlags::BENEATH);
        Ok(Self { directory, openat2: !matches!(probe, Err(Errno::NOSYS | Errno::PERM)) })
    }

    /// Opens the regular file of this name, which the kernel keeps below the folder: symbolic
    /// links are followed while they stay inside, and not at all where it has no `openat2`.
    pub(crate) fn file(&self, name: &[u8]) -> Result<OpenFile, NoFile> {
        let opened = if self.openat2 { self.open_beneath(name) } else { self.open_stepwise(name) };
        let file = opened.map_err(reason)?;
        let stat = fstat(&file).map_err(reason)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(NoFile::Missing);
        }
        Ok(OpenFile { file: file.into(), stat })
    }

    fn open_beneath(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            result = openat2(&self.directory, name, READ, Mode::empty(), resolve);
            if !matches!(result, Err(Errno::AGAIN)) {
                break;
            }
        }
        result
    }

    /// Opens one component after the other, none of them a link. Slower, and nothing escapes.
    fn open_stepwise(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        let mut components = name.split(|&byte| byte == b'/').peekable();
        let mut parent: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            let flags = if components.peek().is_some() {
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
            } else {
                READ
            };
            let within = parent.as_ref().map_or(self.directory.as_fd(), AsFd::as_fd);
            parent = Some(openat(within, component, flags | OFlags::NOFOLLOW, Mode::empty())?);
        }
        parent.ok_or(Errno::NOENT)
    }
}

fn reason(error: Errno) -> NoFile {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => NoFile::Busy,
        Errno::IO => NoFile::Unreadable,
        // Missing, forbidden, outside (EXDEV), a loop, too long: no such file for anybody.
        _ => NoFile::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// Both ways to open must agree on what is inside.
    fn each_way(check: impl Fn(&Folder, &Path)) {
        for openat2 in [true, false] {
            let parent = tempfile::tempdir().unwrap();
            let root = parent.path().join("root");
            fs::create_dir_all(root.join("sub")).unwrap();
            fs::write(parent.path().join("secret"), "s").unwrap();
            fs::write(root.join("sub/a"), "a").unwrap();
            let mut folder = Folder::open(&root).unwrap();
            folder.openat2 &= openat2;
            check(&folder, &root);
        }
    }

    #[test]
    fn files_are_found_and_folders_are_not() {
        each_way(|folder, _| {
            assert_eq!(folder.file(b"sub/a").unwrap().stat.st_size, 1);
            for missing in [&b"sub"[..], b"nope", b"sub/a/b", b"sub/a/"] {
                assert_eq!(folder.file(missing).err(), Some(NoFile::Missing));
            }
            assert_eq!(folder.file(&[b'x'; 5000]).err(), Some(NoFile::Missing));
        });
    }

    #[test]
    fn links_do_not_lead_outside() {
        each_way(|folder, root| {
            symlink("../secret", root.join("up")).unwrap();
            symlink(root.join("../secret"), root.join("absolute")).unwrap();
            symlink("..", root.join("parent")).unwrap();
            for link in [&b"up"[..], b"absolute", b"parent/secret"] {
                assert_eq!(folder.file(link).err(), Some(NoFile::Missing));
            }
        });
    }
}
