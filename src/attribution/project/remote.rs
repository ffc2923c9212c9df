//! `org/repo` from a git remote's URL (contract A.13), never its host, user, credential or query.

/// Schemes whose path on the server is a repository's name; `file` and unknown helpers are not.
const SCHEMES: [&str; 6] = ["https", "http", "ssh", "git", "ftp", "ftps"];

/// The last two segments of the remote's path; `None` when there are fewer, or for a local path.
pub(super) fn org_and_repo(url: &str) -> Option<String> {
    let url = url.trim();
    let path = match url.split_once("://") {
        Some((scheme, rest)) => {
            let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
            let (_authority, path) = rest.split_once('/').filter(|_| known)?;
            // A query may carry a token.
            path.split(['?', '#']).next()?
        }
        None => scp_or_relative(url)?,
    };
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut segments = path.split('/').rev().filter(|segment| !segment.is_empty());
    let (repo, org) = (segments.next()?, segments.next()?);
    (is_name(org) && is_name(repo)).then(|| format!("{org}/{repo}"))
}

/// `host:path`, `user@host:path` or a relative path. The last colon before the first slash is the one that ends the
/// host, so that `user:password@host:path` and `[::1]:path` give only the path.
fn scp_or_relative(url: &str) -> Option<&str> {
    let authority_end = url.find('/').unwrap_or(url.len());
    match url.get(..authority_end)?.rfind(':') {
        Some(colon) => url.get(colon + 1..),
        None => Some(url).filter(|url| !url.starts_with('/')),
    }
}

/// Whether `segment` can be an organisation or repository: not a step in a path, nothing of a user, password or host.
fn is_name(segment: &str) -> bool {
    !matches!(segment, "." | "..")
        && !segment.contains([':', '\\', '?', '#'])
        && !segment.chars().skip(1).any(|next| next == '@')
        && !segment.chars().any(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::org_and_repo;

    #[test]
    fn a_credential_is_never_part_of_a_label() {
        let cases = [
            ("https://user:tok@host/org/repo.git?token=abc", Some("org/repo")),
            ("https://host/org/repo#tok", Some("org/repo")),
            ("https://tok@host/repo", None),
            ("user:tok@host:org/repo.git", Some("org/repo")),
            ("user:tok@host/repo", None),
            ("https:/user:tok@host/repo", None),
            ("x/user:tok@host", None),
        ];
        for (url, expected) in cases {
            assert_eq!(org_and_repo(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn unusual_spellings() {
        let cases = [
            ("HTTPS://Host/Org/Repo.git", Some("Org/Repo")),
            ("[::1]:o/r", Some("o/r")),
            ("https://host//o//r//", Some("o/r")),
            ("ssh://host/~user/repo", Some("~user/repo")),
            ("../repo", None),
            ("../../repo", None),
            (r"C:\work\me\repo", None),
            ("codecommit::eu-west-1://repo", None),
            ("https://host/org/.git", None),
            ("https://host", None),
            ("", None),
        ];
        for (url, expected) in cases {
            assert_eq!(org_and_repo(url).as_deref(), expected, "{url}");
        }
    }
}
