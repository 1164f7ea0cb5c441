package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// credential is a name and a password as git's credential helpers know them, in
// the lines that they speak.
type credential struct {
	lines string
	auth  http.BasicAuth
}

// askGit asks git for the credential of a repository: its helpers, the program in
// GIT_ASKPASS, or the user at the terminal, as git clone would. ndc reads none
// from anywhere else and stores none.
func askGit(ctx context.Context, repository string) (*credential, error) {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "https" {
		return nil, errors.New("credentials are sent over https alone")
	}
	if strings.ContainsFunc(u.Path, unicode.IsControl) {
		return nil, fmt.Errorf("%q is no path that git can be asked about", u.Path)
	}
	question := fmt.Sprintf("protocol=https\nhost=%s\npath=%s\n\n", u.Host, strings.TrimPrefix(u.Path, "/"))
	answer, err := credentialCommand(ctx, "fill", question)
	if err != nil {
		return nil, fmt.Errorf("git has no credential for %s: %w", u.Host, err)
	}
	c := &credential{lines: answer}
	host := ""
	for line := range strings.Lines(answer) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "="); name {
		case "username":
			c.auth.Username = value
		case "password":
			c.auth.Password = value
		case "host":
			host = value
		}
	}
	if c.auth.Password == "" || host != u.Host {
		return nil, fmt.Errorf("git has no credential for %s", u.Host)
	}
	return c, nil
}

// settle tells git's helpers whether a credential was good, so that they keep
// what was typed, and forget what is refused.
func (c *credential) settle(ctx context.Context, good bool) {
	word := "reject"
	if good {
		word = "approve"
	}
	_, _ = credentialCommand(ctx, word, c.lines) // what helpers keep is their affair
}

func credentialCommand(ctx context.Context, word, input string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience.credential, fmt.Errorf("its helpers have not answered in %v", patience.credential))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "credential", word)
	cmd.WaitDelay = time.Second // for helpers, which hold the pipes
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaints
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if said := strings.TrimSpace(complaints.String()); said != "" {
			return "", errors.New(strings.ReplaceAll(said, "\n", "; "))
		}
		return "", err
	}
	return out.String(), nil
}
