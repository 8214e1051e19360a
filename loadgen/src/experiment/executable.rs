//! Whether this machine can run a program, told by its ELF header (elf(5)) before it is started: the
//! C library would hand a foreign binary to the shell, which complains of its syntax.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Bytes of the header up to and with `e_machine`.
const HEADER: usize = 20;

/// Values of `e_machine` that a person has a name for.
const MACHINES: &[(u16, &str)] =
    &[(3, "x86"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv64")];

/// Why `path` cannot run here, if it is a program for another kind of machine.
pub fn foreign(path: &Path) -> Option<String> {
    let mut header = [0; HEADER];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let machine = machine(&header)?;
    let own = std::env::consts::ARCH;
    let name = MACHINES.iter().find(|(number, _)| *number == machine).map(|(_, name)| *name);
    // Kinds without a name here are left to the kernel.
    let foreign = MACHINES.iter().any(|(_, known)| *known == own) && name.is_some_and(|n| n != own);
    // An x86_64 kernel runs x86 programs too.
    (foreign && (own, name) != ("x86_64", Some("x86"))).then(|| {
        format!(
            "{} is a program for {}, and this machine is {own}",
            path.display(),
            name.unwrap_or("another machine")
        )
    })
}

/// `e_machine` of an ELF header.
fn machine(header: &[u8; HEADER]) -> Option<u16> {
    if !header.starts_with(b"\x7fELF") {
        return None;
    }
    let bytes = [header[18], header[19]];
    // EI_DATA: 2 is big-endian.
    Some(if header[5] == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_another_machine_are_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let mut header = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\0\0";
        let other = if std::env::consts::ARCH == "aarch64" { 62 } else { 183 };
        header[18] = other;
        std::fs::write(&path, header).unwrap();
        let message = foreign(&path).unwrap();
        assert!(message.ends_with(std::env::consts::ARCH), "{message}");
        assert_eq!(foreign(&std::env::current_exe().unwrap()), None);
        std::fs::write(&path, "#!/bin/sh\necho a script of more than twenty bytes\n").unwrap();
        assert_eq!(foreign(&path), None);
        assert_eq!(foreign(Path::new("/nowhere")), None);
    }
}
