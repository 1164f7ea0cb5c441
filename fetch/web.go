package fetch

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// MaxRefs is the most that a server sends of the names of its tags and branches, far above
// any repository: go-git keeps all of them in memory.
const MaxRefs = 64 << 20

func init() { client.InstallProtocol("https", web(http.DefaultTransport)) }

// web is git over HTTP by a server that does not send without end.
func web(via http.RoundTripper) transport.Transport {
	return githttp.NewClient(&http.Client{Transport: limited{via}})
}

// limited bounds what comes in answer to each request.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return res, err
	}
	most, what := int64(MaxTransfer)+1<<20, "" // a pack, which is counted by itself, and what frames it
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		most, what = MaxRefs, " of names of tags and branches"
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{&bounded{res.Body, most, fmt.Errorf("it sends more than %d MiB%s", most>>20, what)}, res.Body}
	return res, nil
}
