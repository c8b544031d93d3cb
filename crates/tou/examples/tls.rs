//! TLS over ToU with rustls: an echo server and its client in one process.

use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use windlass_tou::tokio::{AsyncTouListener, AsyncTouStream};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let certificate = own.cert.der().clone();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let listener = AsyncTouListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let echo = tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let mut stream = TlsAcceptor::from(Arc::new(server)).accept(stream).await?;
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await?;
        stream.write_all(&heard).await?;
        stream.shutdown().await
    });

    let stream = AsyncTouStream::connect(address).await?;
    let name = ServerName::try_from("localhost")?;
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await?;
    let said = b"over TLS over TCP over UDP ".repeat(10_000);
    stream.write_all(&said).await?;
    stream.shutdown().await?;
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await?;
    echo.await??;
    assert!(heard == said, "not what was said");
    println!("{} bytes there and back", heard.len());
    Ok(())
}
