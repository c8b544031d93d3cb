//! Windows, whose Unix sockets the standard library does not have: a TCP port of the loopback interface.
//! A file holds the port and a secret to show there, so that whoever can read the file may ask.

use super::ANSWER_MAX;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SECRET_LEN: usize = 16;
/// The secret, after the port in two bytes.
type Secret = [u8; SECRET_LEN];

/// Windows tries a closed port for two seconds before it reports it.
const CONNECT_MAX: Duration = Duration::from_secs(5);

#[cfg(windows)]
pub(super) fn default_folder() -> Option<std::path::PathBuf> {
    Some(windlass_identity::default_path()?.with_file_name("running"))
}

#[cfg(windows)]
pub(super) fn folders_of_others() -> Vec<std::path::PathBuf> {
    Vec::new()
}

#[cfg(windows)]
pub(super) fn user_of(_: &Path) -> Option<String> {
    None
}

#[cfg(windows)]
pub(super) fn network_namespace() -> Option<String> {
    None
}

/// Makes the folder, with the access list of the user's profile.
#[cfg(windows)]
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Makes the file, and answers whoever shows the secret.
pub(super) fn serve(
    path: &Path,
    answer: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static,
) -> io::Result<()> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let listener = TcpListener::from_std(listener)?;
    let mut secret: Secret = [0; SECRET_LEN];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(&[&port.to_be_bytes()[..], &secret].concat())?;
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        loop {
            let mut stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if is_of_the_peer(&error) => continue,
                Err(_) => return,
            };
            let answer = Arc::clone(&answer);
            let reply = async move {
                let mut shown: Secret = [0; SECRET_LEN];
                stream.read_exact(&mut shown).await?;
                match answer() {
                    Some(text) if is_same(&shown, &secret) => stream.write_all(&text).await,
                    _ => Ok(()),
                }
            };
            tokio::spawn(tokio::time::timeout(ANSWER_MAX, reply));
        }
    });
    Ok(())
}

/// A connection that ended before it was accepted.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

/// In a time that does not tell where they differ.
fn is_same(a: &Secret, b: &Secret) -> bool {
    a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// The answer of a command, of at most `len_max` bytes. Removes the file of one that was killed.
pub(super) fn ask(path: &Path, len_max: u64) -> Option<Vec<u8>> {
    let contents: [u8; 2 + SECRET_LEN] = fs::read(path).ok()?.try_into().ok()?;
    let (port, secret) = contents.split_first_chunk()?;
    let address = (Ipv4Addr::LOCALHOST, u16::from_be_bytes(*port)).into();
    let mut stream = match TcpStream::connect_timeout(&address, CONNECT_MAX) {
        // No process listens: it was killed.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            let _ = fs::remove_file(path);
            return None;
        }
        stream => stream.ok()?,
    };
    stream.set_read_timeout(Some(ANSWER_MAX)).ok()?;
    stream.write_all(secret).ok()?;
    let mut text = Vec::new();
    stream.take(len_max).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::spawn_blocking;

    #[tokio::test]
    async fn who_shows_the_secret_gets_the_answer() {
        let folder = std::env::temp_dir().join(format!("windlass-status-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("running");
        serve(&path, || Some(b"well".to_vec())).expect("served");
        let right = path.clone();
        let answer = spawn_blocking(move || ask(&right, 100)).await.expect("no panic");
        assert_eq!(answer.as_deref(), Some(&b"well"[..]));

        let mut contents = fs::read(&path).expect("readable");
        contents[5] ^= 1;
        let wrong = folder.join("wrong");
        fs::write(&wrong, &contents).expect("written");
        let answer = spawn_blocking(move || ask(&wrong, 100)).await.expect("no panic");
        assert_eq!(answer.unwrap_or_default(), b"");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn the_file_of_a_killed_command_is_removed() {
        let path = std::env::temp_dir().join(format!("windlass-killed-{}", std::process::id()));
        // Bound, so that no other program gets the port, but not listening.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.expect("a socket");
        socket.bind(&std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a port");
        let bound = socket.local_addr().expect("bound").as_socket();
        let port = bound.expect("an address of IPv4").port();
        fs::write(&path, [&port.to_be_bytes()[..], &[0; SECRET_LEN]].concat()).expect("written");
        assert_eq!(ask(&path, 100), None);
        assert!(!path.exists());
    }
}
