//! The terminal's own mailbox: a session that lives in a key file, not in a process.
//! Spec: D6.3

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::{ClientKind, SessionName};
use messaging_core::random;
use messaging_ipc::call;
use messaging_ipc::params::session::Register;
use messaging_ipc::scalars::SessionKey;
use messaging_ipc::shapes::SessionTier;
use messaging_runtime::entropy::SystemRandom;

use crate::context::{Context, Link};
use crate::fault::Fault;

/// The mailbox that is used when none is named.
pub(crate) const DEFAULT: &str = "cli";

/// One key file.
#[derive(Clone, Debug)]
pub(crate) struct Mailbox {
    /// The mailbox's name.
    pub(crate) name: SessionName,
    path: PathBuf,
}

impl Mailbox {
    /// The mailbox of a name, `cli` when none is given. Nothing is made yet.
    pub(crate) fn of(context: &Context, name: Option<&SessionName>) -> Result<Self, Fault> {
        let name = match name {
            Some(name) => name.clone(),
            None => SessionName::parse(DEFAULT)?,
        };
        let path = folder(context)?.join(format!("{name}.key"));
        Ok(Self { name, path })
    }

    /// Every mailbox of the home, by name.
    pub(crate) fn all(context: &Context) -> Result<Vec<Self>, Fault> {
        let folder = folder(context)?;
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(_) => return Err(unreadable()),
        };
        let mut found: Vec<Self> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let file = entry.file_name();
                let name = SessionName::parse(file.to_str()?.strip_suffix(".key")?).ok()?;
                Some(Self { name, path: entry.path() })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Whether its key file is there.
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Its key, made on first use.
    ///
    /// Errors: `forbidden` for a key file that is not private.
    pub(crate) fn key(&self) -> Result<SessionKey, Fault> {
        match self.read()? {
            Some(key) => Ok(key),
            None => {
                self.make()?;
                self.read()?.ok_or_else(unreadable)
            }
        }
    }

    /// Deletes its key file.
    pub(crate) fn delete(&self) -> Result<(), Fault> {
        fs::remove_file(&self.path).map_err(|_| unreadable())
    }

    /// Registers its session on a connection, which may act as it from then on.
    pub(crate) async fn open(&self, link: &Link<'_>) -> Result<SessionKey, Fault> {
        let key = self.key()?;
        let register = Self::registration(key.clone(), self.name.clone())?;
        link.call::<call::SessionRegister>(&register).await?;
        Ok(key)
    }

    /// What a mailbox registers as.
    pub(crate) fn registration(key: SessionKey, name: SessionName) -> Result<Register, Fault> {
        Ok(Register {
            key,
            agent: ClientKind::parse(DEFAULT)?,
            name: Some(name),
            tier: Some(SessionTier::Pull),
            state: None,
            repo: None,
            branch: None,
            doing: None,
            features: None,
            host: None,
            ticket: None,
        })
    }

    fn read(&self) -> Result<Option<SessionKey>, Fault> {
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(unreadable()),
        };
        let own = rustix::process::geteuid().as_raw();
        if !found.is_file() || found.uid() != own || found.mode() & 0o077 != 0 {
            return Err(Fault::new(Code::Forbidden, "the mailbox's key file is not private")
                .next("make it yours alone: chmod 600, owned by you."));
        }
        let text = fs::read_to_string(&self.path).map_err(|_| unreadable())?;
        SessionKey::parse(text.trim_end()).map(Some).map_err(|_| {
            Fault::local("the mailbox's key file holds no key", "run `messaging mailbox remove`.")
        })
    }

    /// Writes a fresh key. Of two commands that do so at once, one wins and both use its key.
    fn make(&self) -> Result<(), Fault> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return Err(unwritable()),
        }
        let key = b64::encode(&random::bytes::<32>(&mut SystemRandom));
        // Temporary files are private from the start.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|_| unwritable())?;
        file.write_all(key.as_bytes()).map_err(|_| unwritable())?;
        file.as_file().sync_all().map_err(|_| unwritable())?;
        match file.persist_noclobber(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(_) => Err(unwritable()),
        }
    }
}

fn folder(context: &Context) -> Result<PathBuf, Fault> {
    Ok(context.home()?.join("cli"))
}

fn unreadable() -> Fault {
    Fault::local("the mailbox's key file could not be read", "check the folder `cli` of the home.")
}

fn unwritable() -> Fault {
    Fault::local(
        "the mailbox's key file could not be written",
        "check the folder `cli` of the home.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mailbox(folder: &Path) -> Mailbox {
        Mailbox { name: SessionName::parse("cli").unwrap(), path: folder.join("cli/cli.key") }
    }

    #[test]
    fn a_key_is_made_once_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let mailbox = mailbox(home.path());
        assert!(!mailbox.exists());
        let key = mailbox.key().unwrap();
        assert_eq!(mailbox.key().unwrap(), key);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&mailbox.path), 0o600);
        assert_eq!(mode(mailbox.path.parent().unwrap()), 0o700);
        mailbox.make().unwrap();
        assert_eq!(mailbox.key().unwrap(), key, "a second maker does not replace the key");
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let mailbox = mailbox(home.path());
        mailbox.key().unwrap();
        fs::set_permissions(&mailbox.path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(mailbox.key().unwrap_err().code, Code::Forbidden);
        fs::remove_file(&mailbox.path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &mailbox.path).unwrap();
        assert_eq!(mailbox.key().unwrap_err().code, Code::Forbidden);
    }
}
