//! The data files of the scenarios: where they are, and the upload files, made when missing.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    process,
};

/// Sizes of the upload files, in bytes: those of the published comparisons.
pub const UPLOAD_SIZES: [u64; 6] = [1_095, 511_274, 1_922_394, 5_994_496, 51_924_024, 100_450_390];

/// The data folder of the workspace.
#[must_use]
pub fn default_dir() -> PathBuf {
    crate::workspace_root().join("data")
}

/// The upload files in `data_dir/upload`, in the order of [`UPLOAD_SIZES`]; those missing or of
/// another size are made. Their content does not compress and is the same on every machine.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn ensure_upload_files(data_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let dir = data_dir.join("upload");
    fs::create_dir_all(&dir)?;
    UPLOAD_SIZES
        .iter()
        .map(|&size| {
            let path = dir.join(format!("{size}.bin"));
            if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == size) {
                make(&path, size)?;
            }
            Ok(path)
        })
        .collect()
}

/// Makes one file under another name first, so that nobody ever sees half of it.
fn make(path: &Path, size: u64) -> io::Result<()> {
    let temporary = path.with_extension(format!("tmp.{}", process::id()));
    let mut file = BufWriter::new(File::create(&temporary)?);
    let mut state = size;
    let mut left = size;
    while left > 0 {
        let word = split_mix(&mut state).to_le_bytes();
        let length = left.min(word.len() as u64);
        file.write_all(&word[..usize::try_from(length).unwrap_or(word.len())])?;
        left -= length;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?;
    fs::rename(&temporary, path)
}

/// The next number of SplitMix64 (Steele, Lea and Flood, 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_size_and_always_the_same_content() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        make(&one, 1_095).unwrap();
        make(&two, 1_095).unwrap();
        let content = fs::read(&one).unwrap();
        assert_eq!(content.len(), 1_095);
        assert_eq!(content, fs::read(&two).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
    }
}
