//! Where the project's own folders are: `certs` and `data`.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The root of the workspace: the nearest one above the current folder, else the one this
/// program was built in, else the current folder.
#[must_use]
pub fn root() -> PathBuf {
    let current = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    current
        .ancestors()
        .chain(built_in)
        .find(|dir| is_workspace(dir))
        .map_or_else(|| current.clone(), Path::to_path_buf)
}

fn is_workspace(dir: &Path) -> bool {
    dir.join("servers/kit/Cargo.toml").is_file()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_found_from_a_member() {
        assert!(super::root().join("servers/kit/src/workspace.rs").is_file());
    }
}
