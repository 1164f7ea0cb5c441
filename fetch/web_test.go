package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport/client"
)

// overHTTPS has git reach a server of a test until its end.
func overHTTPS(t *testing.T, server *httptest.Server) {
	t.Helper()
	client.InstallProtocol("https", web(server.Client().Transport))
	t.Cleanup(func() { client.InstallProtocol("https", web(http.DefaultTransport)) })
}

// TestEndlessRefs: a server that lists tags without end is left.
func TestEndlessRefs(t *testing.T) {
	sent := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		line := func(text string) bool {
			n, err := fmt.Fprintf(w, "%04x%s", len(text)+4, text)
			sent += n
			return err == nil
		}
		line("# service=git-upload-pack\n")
		fmt.Fprint(w, "0000")
		hash := strings.Repeat("1", 40)
		ok := line(hash + " HEAD\x00symref=HEAD:refs/heads/main\n")
		long := strings.Repeat("x", 60000) // as few as make the most
		for i := 0; ok && sent < 4*MaxRefs; i++ {
			ok = line(fmt.Sprintf("%s refs/tags/%s%d\n", hash, long, i))
		}
	}))
	defer server.Close()
	overHTTPS(t, server)
	if _, err := Open(t.Context(), server.URL+"/a.git"); err == nil || !strings.Contains(err.Error(), "it sends more than 64 MiB of names of tags and branches") {
		t.Errorf("after %d MiB: %v", sent>>20, err)
	}
}

// TestSilentServer: a server that does not answer is left, also where it has named what it has.
func TestSilentServer(t *testing.T) {
	before := patience
	patience.names, patience.commit = 50*time.Millisecond, 60*time.Millisecond
	t.Cleanup(func() { patience = before })
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // after which it is seen that nobody waits
		<-r.Context().Done()
	}))
	defer server.Close()
	overHTTPS(t, server)
	if _, err := Open(t.Context(), server.URL+"/a.git"); err == nil || err.Error() != "it has not named its tags and branches in 50ms" {
		t.Error(err)
	}
	commit := strings.Repeat("1", 40)
	r := &Repository{url: server.URL + "/a.git", refs: map[string]string{"refs/tags/v1": commit}}
	if _, err := r.Files(t.Context(), commit, t.TempDir()); err == nil || err.Error() != "it has not sent the commit in 60ms" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, server.URL+"/a.git"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
