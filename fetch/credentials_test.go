package fetch

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// helper has git know one password, and write down what it is asked.
func helper(t *testing.T, password string) (log func() string) {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "helper"), "#!/bin/sh\necho \"$1\" >>"+dir+"/log\n[ \"$1\" != get ] || printf 'username=team\\npassword="+password+"\\n'\n")
	put(t, filepath.Join(dir, "config"), "[credential]\n\thelper = "+dir+"/helper\n")
	if err := os.Chmod(filepath.Join(dir, "helper"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(dir, "config"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": ""} {
		t.Setenv(name, value)
	}
	return func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return strings.Join(strings.Fields(string(text)), " ")
	}
}

// TestCredentials: a server that wants a password gets the one that git has for
// it, and no other server does.
func TestCredentials(t *testing.T) {
	dir, commits := repository(t)
	backend := &cgi.Handler{Path: strings.TrimSpace(runGit(t, dir, "--exec-path")) + "/git-http-backend", Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}
	if _, err := exec.LookPath(backend.Path); err != nil {
		t.Skip("git is here without its server for http")
	}
	told := ""
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told += r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "team" || password != "secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusFound)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	overHTTPS(t, server)

	log := helper(t, "secret")
	r, err := Open(t.Context(), server.URL+"/.git")
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Files(t.Context(), commits[0], t.TempDir())
	if err != nil || string(f.Content["pretrain/a.hcl"]) != "one\n" {
		t.Errorf("%v, %v", f, err)
	}
	if log() != "get store" {
		t.Errorf("git was asked to %s", log())
	}
	if _, err := Open(t.Context(), server.URL+"/moved/.git"); err == nil || told != "" {
		t.Errorf("another server was told %q (%v)", told, err)
	}

	log = helper(t, "wrong")
	if _, err := Open(t.Context(), server.URL+"/.git"); err == nil || log() != "get erase" {
		t.Errorf("%v, and git was asked to %s", err, log())
	}
	log = helper(t, "")
	if _, err := Open(t.Context(), server.URL+"/.git"); err == nil || !strings.Contains(err.Error(), "git has no credential for 127.0.0.1") || strings.Contains(log(), "erase") {
		t.Errorf("%v, and git was asked to %s", err, log())
	}
}

// TestCredentialOfALine: a path whose signs would be further lines of the question,
// such as another host's, is not asked about.
func TestCredentialOfALine(t *testing.T) {
	log := helper(t, "secret")
	for _, repository := range []string{"https://here.example/a%0Ahost=elsewhere.example", "https://here.example/a%0D", "https://here.example/%00", "ssh://here.example/a"} {
		if c, err := askGit(t.Context(), repository); err == nil || log() != "" {
			t.Errorf("%s: %v, and git was asked to %s", repository, c, log())
		}
	}
}

// TestSilentHelper: a helper that never answers, as one that waits for a browser, is left.
func TestSilentHelper(t *testing.T) {
	helper(t, "secret")
	put(t, filepath.Join(filepath.Dir(os.Getenv("GIT_CONFIG_GLOBAL")), "helper"), "#!/bin/sh\nsleep 10\n")
	before := patience
	patience.credential = 50 * time.Millisecond
	t.Cleanup(func() { patience = before })
	const want = "git has no credential for here.example: its helpers have not answered in 50ms"
	if _, err := askGit(t.Context(), "https://here.example/a"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
