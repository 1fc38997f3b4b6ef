//! Invitations have one form, which survives being pasted, and never show their secret by accident.

use proptest::prelude::*;

use super::*;

const ADDRESS: &str = "https://search.example.org:8443/v1/federations/wards";

fn invitation() -> Invitation {
    Invitation::new(ADDRESS, Fingerprint::from_bytes([0xab; 32]), [7; 32]).expect("sound")
}

fn refusal(address: &str) -> InvitationError {
    Invitation::new(address, Fingerprint::default(), [7; 32]).expect_err(address)
}

#[test]
fn an_invitation_is_one_line_of_text() {
    let text = format!("{ADDRESS}#{}.{}", "ab".repeat(32), "07".repeat(32));
    assert_eq!(invitation().to_string(), text);
    for pasted in [text.clone(), format!("  {text}\r\n"), format!("\n\t{text} ")] {
        assert_eq!(pasted.parse(), Ok(invitation()), "{pasted:?}");
    }
    assert_eq!((invitation().path(), invitation().secret()), ("/v1/federations/wards", &[7; 32]));
    assert!(invitation().is_encrypted());
}

#[test]
fn debugging_does_not_show_the_secret() {
    let text = format!("{:?}", invitation());
    assert_eq!(text, format!("Invitation({ADDRESS}#{}, and a secret)", "ab".repeat(32)));
    // Neither does an error, whatever was left out of the text.
    let whole = invitation().to_string();
    for (from, to) in [("#", ""), (".07", "07"), ("ab.", "."), ("https://", ""), ("07", "0"), ("/v1/", "/v1/ /")] {
        let pasted = whole.replacen(from, to, 1);
        let error = pasted.parse::<Invitation>().expect_err(&pasted);
        assert!(!format!("{error} {error:?}").contains("0707"), "{error:?}");
    }
}

#[test]
fn only_this_machine_is_reached_without_encryption() {
    for host in ["localhost", "127.0.0.1", "127.255.0.9", "[::1]", "localhost:8080", "127.0.0.1:1", "[::1]:65535"] {
        let invitation = Invitation::new(format!("http://{host}/v1/a"), Fingerprint::default(), [0; 32]).expect(host);
        assert_eq!((invitation.is_encrypted(), invitation.path()), (false, "/v1/a"));
    }
    let others = [
        "example.org",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "127.example.org",
        "127.0.0.256",
        "127.0.0.01",
        "127.1",
        "0127.0.0.1",
        "128.0.0.1",
        "[::2]",
        "[::1:1]",
    ];
    for host in others {
        let refused = refusal(&format!("http://{host}/v1/a"));
        assert_eq!(refused, InvitationError::NotEncrypted { host: host.into() });
        assert!(Invitation::new(format!("https://{host}/v1/a"), Fingerprint::default(), [0; 32]).is_ok(), "{host}");
    }
}

#[test]
fn an_address_has_one_form() {
    use InvitationError as Error;
    let host = |host: &str| Error::Host { host: host.into() };
    let port = |port: &str| Error::Port { port: port.into() };
    let path = |path: &str| Error::Path { path: path.into() };
    for (address, error) in [
        ("", Error::Scheme),
        ("https://Example.org/v1/a", host("Example.org")),
        ("https://example.org:443/v1/a", port("443")),
        ("http://localhost:80/v1/a", port("80")),
        ("search.example.org/v1/a", Error::Scheme),
        ("ftp://a.org/v1/a", Error::Scheme),
        ("HTTPS://a.org/v1/a", Error::Scheme),
        ("https:///v1/a", host("")),
        ("https://a..org/v1/a", host("a..org")),
        ("https://a.org\\b/v1/a", host("a.org\\b")),
        ("https://[::1/v1/a", host("[")),
        ("https://::1/v1/a", host("")),
        ("https://[]/v1/a", host("[]")),
        ("https://[::1]x/v1/a", host("[::1]x")),
        ("https://a.org:/v1/a", port("")),
        ("https://a.org:0/v1/a", port("0")),
        ("https://a.org:+1/v1/a", port("+1")),
        ("https://a.org:080/v1/a", port("080")),
        ("https://a.org:65536/v1/a", port("65536")),
        ("https://me:word@a.org/v1/a", Error::UserInfo),
        ("http://localhost@a.org/v1/a", Error::UserInfo),
        ("https://a.org/v1/a?b", Error::Query),
        ("https://a.org/v1/a#b", Error::Query),
        ("https://a.org/v1/a/", Error::TrailingSlash),
        ("https://a.org/", Error::TrailingSlash),
        ("https://a.org", path("")),
        ("https://a.org/v1", path("/v1")),
        ("https://a.org/v2/a", path("/v2/a")),
        ("https://a.org/v1//a", path("/v1//a")),
        ("https://a.org/v1/../a", path("/v1/../a")),
        ("https://a.org/v1/./a", path("/v1/./a")),
        ("https://a.org/v1/%2e%2e/a", path("/v1/%2e%2e/a")),
        ("https://a.org/v1/a b", Error::Character { at: 19 }),
        ("https://a.org/v1/\u{e9}", Error::Character { at: 18 }),
        ("https://a.org/v1/\u{7}", Error::Character { at: 18 }),
    ] {
        assert_eq!(refusal(address), error, "{address}");
    }
    let longest = format!("https://a.org/v1/{}", "a".repeat(1024 - 17));
    assert!(Invitation::new(longest.clone(), Fingerprint::default(), [0; 32]).is_ok());
    assert_eq!(refusal(&(longest + "a")), Error::TooLong { got: 1025 });
}

#[test]
fn incomplete_texts_say_what_is_missing() {
    let digits = "ab".repeat(32);
    for (text, reason) in [
        (ADDRESS.into(), "this text has no `#`"),
        (format!("{ADDRESS}#{digits}"), "no `.` behind the key"),
        (format!("{ADDRESS}#{}.{digits}", &digits[1..]), "the key of an invitation must be 64"),
        (format!("{ADDRESS}#{digits}.{}", &digits[1..]), "the secret of an invitation must be 64"),
        (format!("{ADDRESS}#{digits}.{digits}."), "the secret of an invitation must be 64"),
        (format!("{ADDRESS}#{}.{digits}", digits.to_uppercase()), "in lower case"),
        (format!("{ADDRESS} #{digits}.{digits}"), "is a blank"),
        (format!("{ADDRESS}/#{digits}.{digits}"), "ends with a slash"),
    ] {
        let error = text.parse::<Invitation>().expect_err(&text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn what_is_read_is_written_again(text in "https?://[a-z0-9.:\\[\\]@]{0,12}/v1/[a-z./%]{0,6}#[0-9a-f]{64}\\.[0-9a-f]{64}") {
        if let Ok(invitation) = text.parse::<Invitation>() {
            prop_assert_eq!(invitation.to_string(), text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        prop_assert!(text.parse::<Invitation>().is_err());
    }
}
