//! Which certificates are trusted.

use crate::file::read_file;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ParsedCertificate;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::path::PathBuf;
use std::sync::Arc;

/// Why TLS can't be set up, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(pub String);

/// How servers are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// A PEM file with the certificates to trust instead of those of the operating system.
    pub ca_file: Option<PathBuf>,
    /// Whether certificates are verified at all.
    pub verify: bool,
    /// The name to verify, when it isn't the host of the URL.
    pub server_name: Option<String>,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            ca_file: None,
            verify: true,
            server_name: None,
        }
    }
}

impl TlsSettings {
    /// The settings as rustls wants them.
    ///
    /// # Errors
    /// When the file can't be read or holds no certificate, or the operating system has none.
    pub fn config(&self) -> Result<Arc<rustls::ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError(error.to_string()))?;
        let verifier: Arc<dyn ServerCertVerifier> = if self.verify {
            Arc::new(Verified::new(self.roots()?, &provider)?)
        } else {
            Arc::new(Unverified(provider))
        };
        let mut config = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let certificates = match &self.ca_file {
            Some(file) => certificates_in(file)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        if !certificates.is_empty() {
            return Ok(certificates);
        }
        Err(TlsError(match &self.ca_file {
            Some(file) => format!("{} holds no certificate", file.display()),
            None => "the operating system has no trusted certificates: name a CA file".to_owned(),
        }))
    }
}

/// The largest file of certificates that is read, in bytes: all public authorities together take half a megabyte.
const LARGEST_CA: u64 = 16 << 20;

fn certificates_in(file: &std::path::Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable =
        |error: &dyn std::fmt::Display| TlsError(format!("{} can't be read: {error}", file.display()));
    let text = read_file(file, LARGEST_CA).map_err(|error| unreadable(&error))?;
    CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(&error))
}

/// Trusts what the roots vouch for, and the roots themselves.
///
/// A certificate that signed itself, as `openssl req -x509` makes it, says that it is an authority. Rustls doesn't take it
/// for a server's even if it is trusted; one that was named as trusted, byte for byte, is what the user meant.
#[derive(Debug)]
struct Verified {
    inner: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
}

impl Verified {
    fn new(roots: Vec<CertificateDer<'static>>, provider: &Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let mut store = rustls::RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone()).build();
        let inner =
            inner.map_err(|error| TlsError(format!("the trusted certificates can't be used: {error}")))?;
        Ok(Self { inner, roots })
    }

    /// Whether a certificate was refused for nothing but that it says it is an authority; its dates were looked at before.
    fn is_trusted_itself(&self, certificate: &CertificateDer<'_>, error: &rustls::Error) -> bool {
        format!("{error:?}").contains("CaUsedAsEndEntity")
            && self.roots.iter().any(|root| root == certificate)
    }
}

impl ServerCertVerifier for Verified {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.inner
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(error) if self.is_trusted_itself(end_entity, &error) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Trusts everyone; used only when verification is turned off by name.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
