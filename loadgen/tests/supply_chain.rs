//! What the programs are made of: every dependency has its reason and is used, and `unsafe` is only where
//! it is known to be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// The files that need `unsafe`; docs/dependencies.md says why.
const UNSAFE: [&str; 6] = [
    "loadgen/benches/uring_prototype.rs",
    "loadgen/src/engine/limits.rs",
    "loadgen/src/experiment/process_group.rs",
    "servers/kit/src/io.rs",
    "servers/kit/src/listen.rs",
    "servers/qr/src/penalty.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(folder: &Path) -> Table {
    read(&folder.join("Cargo.toml")).parse().expect("a manifest is TOML")
}

/// The members of the workspace: folder and manifest.
fn members() -> Vec<(PathBuf, Table)> {
    let members = manifest(&root())["workspace"]["members"].as_array().expect("members").clone();
    let folder = |member: &toml::Value| root().join(member.as_str().expect("a folder"));
    members.iter().map(folder).map(|folder| (folder.clone(), manifest(&folder))).collect()
}

/// Names in a table of dependencies.
fn names(manifest: &Table, table: &str) -> BTreeSet<String> {
    let table = manifest.get(table).and_then(toml::Value::as_table);
    table.into_iter().flat_map(Table::keys).cloned().collect()
}

/// The Rust files below a folder, without what was built.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_direct_dependency_has_its_reason_and_only_those() {
    let workspace = manifest(&root());
    let workspace = workspace["workspace"].as_table().expect("a workspace");
    let own = |name: &String| workspace["dependencies"][name].get("path").is_some();
    let direct: BTreeSet<String> =
        names(workspace, "dependencies").into_iter().filter(|name| !own(name)).collect();
    let page = read(&root().join("docs/dependencies.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let mut told = BTreeSet::new();
    for (crates, reason) in rows.filter(|(crates, _)| *crates != "crate") {
        for name in crates.split(", ") {
            assert!(told.insert(name.to_owned()), "{name} stands twice in docs/dependencies.md");
            assert!(reason.len() > 5, "{name} has no reason in docs/dependencies.md");
        }
    }
    assert_eq!(told, direct, "docs/dependencies.md (left) and Cargo.toml differ");
}

#[test]
fn members_take_their_dependencies_and_lints_from_the_workspace_and_use_them() {
    for (folder, manifest) in members() {
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{}", folder.display());
        let of = |parts: &[&str]| -> String {
            let files = parts.iter().flat_map(|part| sources(&folder.join(part)));
            files.map(|file| read(&file)).collect()
        };
        let (program, all) = (of(&["src"]), of(&["src", "tests", "benches", "examples"]));
        for (table, text) in [("dependencies", &program), ("dev-dependencies", &all)] {
            for name in names(&manifest, table) {
                let place = format!("{name} in {}/Cargo.toml", folder.display());
                let given = &manifest[table][&name];
                let shared = given.get("workspace").and_then(toml::Value::as_bool) == Some(true);
                assert!(shared || given.get("path").is_some(), "{place} has a version of its own");
                let named = name.replace('-', "_");
                let used =
                    text.contains(&format!("{named}::")) || text.contains(&format!("use {named}"));
                assert!(used, "{place} is not used");
            }
        }
    }
}

#[test]
fn unsafe_is_only_where_it_is_known_to_be() {
    let mut found = BTreeSet::new();
    for file in
        ["servers", "loadgen", "clients"].iter().flat_map(|folder| sources(&root().join(folder)))
    {
        let text = read(&file);
        let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
        let forms = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"];
        let name = file.strip_prefix(root()).expect("below the root").display().to_string();
        let own_test = name == "loadgen/tests/supply_chain.rs";
        if !own_test && code.into_iter().any(|line| forms.iter().any(|form| line.contains(form))) {
            let why = "unsafe_code,";
            assert!(text.contains("#![expect(") && text.contains(why), "{name} does not say why");
            found.insert(name);
        }
    }
    assert_eq!(found, UNSAFE.map(str::to_owned).into(), "found (left) and known differ");
    let lints = manifest(&root());
    let lint = &lints["workspace"]["lints"]["rust"]["unsafe_code"];
    assert_eq!(lint.as_str(), Some("deny"));
}
