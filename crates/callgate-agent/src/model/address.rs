//! The address of a server, checked once: scheme, host, port and what its paths start with.

use hyper::Uri;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether the connection is encrypted.
    pub is_https: bool,
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What paths start with; without a slash at its end.
    pub base: String,
}

impl Address {
    /// Reads an address such as `http://127.0.0.1:11434` or `https://api.example.com/v1`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|_| "this is no address".to_owned())?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("the address must start with http:// or https://".to_owned()),
        };
        let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        if authority.contains('@') {
            return Err("a name or password in the address would end up in logs".to_owned());
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("the address must end with its path".to_owned());
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err("the address names no host".to_owned());
        }
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        Ok(Address { is_https, host, port, base: uri.path().trim_end_matches('/').to_owned() })
    }

    /// Whether the host is this machine itself, whatever the network is.
    pub fn is_loopback(&self) -> bool {
        let is_loopback = self.host.parse().is_ok_and(|host: std::net::IpAddr| host.is_loopback());
        is_loopback || self.host.eq_ignore_ascii_case("localhost")
    }

    /// What stands in the `Host` header.
    pub fn host_header(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_https, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.host_header(), self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_as_they_were_written() {
        for text in [
            "http://127.0.0.1:11434",
            "https://api.example.com/v1",
            "http://[::1]:80",
            "http://local:8080/a/b",
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(Address::parse(&address.to_string()), Ok(address.clone()), "{text}");
        }
        let address = Address::parse("https://api.example.com/v1/").unwrap();
        assert_eq!((address.port, address.base.as_str()), (443, "/v1"));
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, is_loopback) in [
            ("http://127.0.0.1:11434", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:80", true),
            ("http://LocalHost", true),
            ("http://localhost.evil.test", false),
            ("http://127.0.0.1.evil.test", false),
            ("http://0.0.0.0", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_loopback(), is_loopback, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_server_is_rejected() {
        for text in [
            "",
            "127.0.0.1:80",
            "ftp://x",
            "http://",
            "http://user:pw@x",
            "http://x/?a=1",
            "http://x/#a",
            "file:///etc",
        ] {
            assert!(Address::parse(text).is_err(), "{text:?}");
        }
    }
}
