//! Files that a user names: regular files alone, and never more of them than a bound.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The content of a regular file of at most `most` bytes.
///
/// # Errors
/// When it can't be read, is larger, or is a folder, a pipe, a socket or a device: those may never end, or never begin.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    regular(path)?.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(content)
}

/// The same as text in UTF-8.
///
/// # Errors
/// As [`read_file`], and when it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read_file(path, most)?).map_err(|_| Error::other("it is not UTF-8 text"))
}

/// Opens a file without waiting for the other end of a pipe.
fn regular(path: &Path) -> Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Error::other(
            "it is a folder, a pipe, a socket or a device; a file is needed",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.json");
        std::fs::write(&path, "{ü}").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "{ü}");
        let error = read_text(&path, 3).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 3 bytes");
        std::fs::write(&path, [0xFF]).unwrap();
        assert_eq!(
            read_text(&path, 3).unwrap_err().to_string(),
            "it is not UTF-8 text"
        );
    }

    #[test]
    fn a_pipe_a_device_and_a_folder_are_refused_before_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = read_file(path, 100).unwrap_err().to_string();
            assert!(error.ends_with("a file is needed"), "{}: {error}", path.display());
        }
    }
}
