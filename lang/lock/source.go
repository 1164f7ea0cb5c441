package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang"
)

// Source is where a module that has to be fetched comes from.
type Source struct {
	Git     string // what git clones: https://…, ssh://… or file:///…; "" for an archive
	Ref     string // a tag, branch or commit of it; "": the default branch, or a version
	Archive string // the path of an archive, relative to the folder of the file that names it
	Inner   string // the module's folder in it; "." is all of it
}

// Credentials are what the source of a repository says of who asks for it, perhaps with a
// password, and what it asks beside ?ref=NAME, perhaps with a token.
var Credentials = regexp.MustCompile(`//[^/@"]+@|[?](?:[^r"]|r[^e"]|re[^f"]|ref[^="])[^"]*|&[^"]*`)

// withoutCredentials is a source as it may be shown.
func withoutCredentials(source string) string {
	return Credentials.ReplaceAllStringFunc(source, func(s string) string {
		if strings.HasPrefix(s, "//") {
			return "//…@"
		}
		return s[:1] + "…"
	})
}

// SourceOf is the source of a call of a module, with the version that the call asks for; "" asks
// for none. What is wrong is told at the places of the two.
func SourceOf(source, version string, at, versionAt diag.Range) (Source, diag.List) {
	const summary = "The source of a module cannot be fetched"
	var diags diag.List
	s, err := ParseSource(source)
	switch {
	case err != nil:
		diags.Error(IDSource, at, summary, fmt.Sprintf("%q: %v.", withoutCredentials(source), err))
	case version != "" && (s.Git == "" || s.Ref != ""):
		diags.Error(IDSource, versionAt, summary, "\"version\" chooses among the tags of a repository. It goes with git:: and without ?ref=; remove one of them.")
	}
	return s, diags
}

// ParseSource reads the source of a module that is no folder as it is:
//
//	git::https://HOST/PATH.git//FOLDER?ref=TAG
//	git::ssh://USER@HOST/PATH.git//FOLDER
//	git::file:///PATH//FOLDER
//	./PATH.tar.gz//FOLDER (.tgz, .tar and .zip, too)
func ParseSource(text string) (Source, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return Source{}, errors.New("a source has neither control characters nor backslashes")
	}
	if rest, ok := strings.CutPrefix(text, "git::"); ok {
		return parseGit(rest)
	}
	outer, inner, _ := strings.Cut(text, "//")
	if !strings.HasPrefix(outer, "./") && !strings.HasPrefix(outer, "../") || !lang.IsArchive(outer) {
		return Source{}, errors.New("write a relative path such as \"../sites\", a repository as \"git::https://HOST/PATH.git//FOLDER\", or an archive as \"./NAME.tar.gz\"")
	}
	folder, err := innerFolder(inner)
	return Source{Archive: path.Clean(outer), Inner: folder}, err
}

func parseGit(text string) (Source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Source{}, errors.New("what follows git:: is no URL. Write git::https://HOST/PATH or git::ssh://USER@HOST/PATH, with a slash behind the host")
	}
	if _, secret := u.User.Password(); secret || u.Scheme == "https" && u.User != nil {
		return Source{}, errors.New("it holds a user or a password, which would be in every copy of the file. Leave it out: a server behind https:// gets what git credential has for it, and one behind ssh:// a key of the SSH agent")
	}
	where, inner, _ := strings.Cut(u.Path, "//")
	switch {
	case u.Opaque != "" || u.Fragment != "" || strings.Contains(u.RawPath, "%"): // what is not ASCII is in RawPath, too, as it was written
		return Source{}, errors.New("write git::https://HOST/PATH, git::ssh://USER@HOST/PATH or git::file:///PATH, without escapes")
	case u.Scheme == "file" && (u.Host != "" || u.User != nil):
		return Source{}, errors.New("file:// has no host: write file:///PATH")
	case u.Scheme == "https", u.Scheme == "ssh":
		if u.Hostname() == "" || where == "" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-") {
			return Source{}, errors.New("the host or the path is missing, or is none")
		}
	case u.Scheme != "file":
		return Source{}, fmt.Errorf("%q is no way to fetch: https and ssh say who answers, and file is a repository on this machine", u.Scheme)
	}
	if strings.HasPrefix(strings.TrimLeft(where, "/"), "-") {
		return Source{}, errors.New("a path does not begin with a dash")
	}
	ref, err := refOf(u)
	if err != nil {
		return Source{}, err
	}
	folder, err := innerFolder(inner)
	u.Path, u.RawQuery = where, ""
	return Source{Git: u.String(), Ref: ref, Inner: folder}, err
}

// refOf is the name behind ?ref=, "" without one. It is no form of a page, where a plus
// sign is a space, and what cannot be read is left out.
func refOf(u *url.URL) (string, error) {
	if u.RawQuery == "" && !u.ForceQuery {
		return "", nil
	}
	name, ok := strings.CutPrefix(u.RawQuery, "ref=")
	ref, err := url.PathUnescape(name)
	switch {
	case u.RawQuery == "" || u.RawQuery == "ref" || u.RawQuery == "ref=":
		return "", errors.New("?ref= is empty. Name a tag, a branch or a commit behind it, or leave it out for the default branch")
	case ok && strings.Contains(ref, "//"): // which no name in git has
		return "", errors.New("the folder stands before the question mark, //FOLDER?ref=NAME")
	case !ok || err != nil || strings.Contains(name, "&") || strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, " ~^:?*["):
		return "", errors.New("behind the question mark stands ref=NAME, of a tag, a branch or a commit, and nothing else; & and % in a name are %26 and %25")
	}
	return ref, nil
}

func innerFolder(inner string) (string, error) {
	inner = path.Clean(strings.Trim(inner, "/"))
	if !fs.ValidPath(inner) {
		return "", errors.New("what stands behind // leads out of what stands before it")
	}
	return inner, nil
}

// Highest returns the highest version among some tags, such as v2.1.0, that a
// constraint such as "~> 2.1" allows, and its tag. A pre-release is taken only
// where the constraint names one.
func Highest(tags []string, constraint string) (tag, highest string, err error) {
	c, err := version.NewConstraint(constraint)
	if err != nil {
		return "", "", fmt.Errorf("%q is no constraint such as \"~> 2.1\" or \">= 1.2, < 3\"", constraint)
	}
	early := slices.ContainsFunc(c, (*version.Constraint).Prerelease)
	var best *version.Version
	for _, t := range tags {
		v, err := version.NewSemver(t)
		if err != nil || v.Prerelease() != "" && !early || !c.Check(v) || best != nil && (best.GreaterThan(v) || best.Equal(v) && tag < t) {
			continue
		}
		best, tag = v, t
	}
	if best == nil {
		return "", "", fmt.Errorf("no tag is a version that %q allows; %s", constraint, versionsOf(tags))
	}
	return tag, best.String(), nil
}

// Twins are the tags that are a version as well as one of them is: v1.3.0 is 1.3.0.
func Twins(tags []string, tag string) []string {
	is, err := version.NewSemver(tag)
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool {
		v, wrong := version.NewSemver(t)
		return err != nil || wrong != nil || t == tag || v.String() != is.String()
	})
}

// versionsOf says which of some tags are versions, the highest first.
func versionsOf(tags []string) string {
	var versions []*version.Version
	for _, t := range tags {
		if v, err := version.NewSemver(t); err == nil {
			versions = append(versions, v)
		}
	}
	if len(versions) == 0 {
		return fmt.Sprintf("of its tags (%d) none is a version", len(tags))
	}
	slices.SortFunc(versions, func(a, b *version.Version) int { return b.Compare(a) })
	versions = slices.CompactFunc(versions, (*version.Version).Equal) // v1.3.0 is 1.3.0
	const most = 5
	var names []string
	for _, v := range versions[:min(most, len(versions))] {
		names = append(names, v.String())
	}
	if len(versions) > most {
		names = append(names, "…")
	}
	return "there are " + strings.Join(names, ", ")
}

// allows reports whether a version that was chosen is one of a constraint; both
// are "" for a source without versions.
func allows(constraint, chosen string) bool {
	if constraint == "" || chosen == "" {
		return constraint == chosen
	}
	_, _, err := Highest([]string{chosen}, constraint)
	return err == nil
}
