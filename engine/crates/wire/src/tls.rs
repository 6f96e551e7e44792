//! Which certificates are trusted.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
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
        let mut config = if self.verify {
            builder
                .with_root_certificates(self.roots()?)
                .with_no_client_auth()
        } else {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<rustls::RootCertStore, TlsError> {
        let mut roots = rustls::RootCertStore::empty();
        let certificates = match &self.ca_file {
            Some(file) => certificates_in(file)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let (added, _) = roots.add_parsable_certificates(certificates);
        if added > 0 {
            return Ok(roots);
        }
        Err(TlsError(match &self.ca_file {
            Some(file) => format!("{} holds no certificate", file.display()),
            None => "the operating system has no trusted certificates: name a CA file".to_owned(),
        }))
    }
}

fn certificates_in(file: &std::path::Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable =
        |error: rustls_pki_types::pem::Error| TlsError(format!("{} can't be read: {error}", file.display()));
    CertificateDer::pem_file_iter(file)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)
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
