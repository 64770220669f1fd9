// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// sees reports whether the credentials of this store may read what other reads.
func (s *Store) sees(other *Store) bool {
	// A shared access signature may be of one container.
	return s.endpoint.String() == other.endpoint.String() && (s.container == other.container || s.options.SAS == "")
}

// sourceTime is how long the service may read the source of a copy.
const sourceTime = time.Hour

// source lets the service read a blob as the source of a request: it signs the URL, or
// returns a header. A copy of a range needs this. A copy of a whole blob with a key or a
// token does not ([Store.copy]).
func (g *signer) source(ctx context.Context, u *url.URL, container, blob string) (http.Header, error) {
	h := http.Header{}
	switch {
	case g.key != nil:
		u.RawQuery = readSignature(g.key, "/blob/"+g.account+"/"+container+"/"+blob, time.Now().Add(sourceTime)).Encode()
	case g.sas != nil:
		u.RawQuery = g.sas.Encode()
	case g.token != nil:
		token, err := g.token.get(ctx)
		if err != nil {
			return nil, err
		}
		if token != "" {
			h.Set("X-Ms-Copy-Source-Authorization", "Bearer "+token)
		}
	}
	return h, nil
}

// readSignature returns the query of a URL that anybody may use to read one blob until a
// time ("Create a service SAS", the form since version 2020-12-06). The blob is named as
// /blob/account/container/name, not escaped.
func readSignature(key []byte, blob string, until time.Time) url.Values {
	q := url.Values{"sp": {"r"}, "se": {until.UTC().Format("2006-01-02T15:04:05Z")}, "sv": {apiVersion}, "sr": {"b"}}
	lines := []string{
		q.Get("sp"), "", q.Get("se"), blob,
		"", "", "", // a policy, addresses and protocols
		q.Get("sv"), q.Get("sr"),
		"", "", // a snapshot and a scope
		"", "", "", "", "", // headers of the answer
	}
	q.Set("sig", signature(key, strings.Join(lines, "\n")))
	return q
}
