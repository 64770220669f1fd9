// SPDX-License-Identifier: Apache-2.0

package azuretest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// signed reports whether a request is not signed with a key, or with the one of the
// account. What is signed is written from the documentation ("Authorize with Shared
// Key"), and not shared with the driver.
func signed(r *http.Request) bool {
	given, isKey := strings.CutPrefix(r.Header.Get("Authorization"), "SharedKey ")
	if !isKey {
		return true
	}
	account, sum, _ := strings.Cut(given, ":")
	return isSum(sum, toSign(r, account))
}

// isSum reports whether a sum is that of a text and the key of the account.
func isSum(sum, text string) bool {
	key, err := base64.StdEncoding.DecodeString(Key)
	if err != nil {
		return false
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return hmac.Equal([]byte(sum), []byte(base64.StdEncoding.EncodeToString(h.Sum(nil))))
}

// readable reports whether a request may read the source of a range that it copies. Where
// the request is signed with a key, the URL of the source needs a signature of its own,
// which is written from the documentation too ("Create a service SAS"). A signature or a
// token of the request has to come once more, for the source.
func readable(r *http.Request, source *url.URL) bool {
	q := source.Query()
	given := r.Header.Get("Authorization")
	switch {
	case strings.HasPrefix(given, "Bearer "):
		return r.Header.Get("X-Ms-Copy-Source-Authorization") == given
	case !strings.HasPrefix(given, "SharedKey "):
		return q.Get("sig") == r.URL.Query().Get("sig")
	}
	account, _, _ := strings.Cut(strings.TrimPrefix(given, "SharedKey "), ":")
	if until, err := time.Parse(time.RFC3339, q.Get("se")); err != nil || time.Until(until) <= 0 {
		return false
	}
	return isSum(q.Get("sig"), strings.Join([]string{
		q.Get("sp"), q.Get("st"), q.Get("se"), "/blob/" + account + source.Path, q.Get("si"), q.Get("sip"), q.Get("spr"), q.Get("sv"), q.Get("sr"),
		q.Get("snapshot"), q.Get("ses"), q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct"),
	}, "\n"))
}

// toSign returns the text that a client signs.
func toSign(r *http.Request, account string) string {
	lines := []string{r.Method}
	for _, name := range []string{
		"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date",
		"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range",
	} {
		value := r.Header.Get(name)
		if name == "Content-Length" && r.ContentLength > 0 { // package http takes the header away
			value = strconv.FormatInt(r.ContentLength, 10)
		} else if name == "Content-Length" {
			value = ""
		}
		lines = append(lines, value)
	}
	var own []string
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Ms-") {
			own = append(own, strings.ToLower(name)+":"+strings.Join(values, ","))
		}
	}
	slices.Sort(own)
	lines = append(append(lines, own...), "/"+account+r.URL.EscapedPath())
	var query []string
	for name, values := range r.URL.Query() {
		slices.Sort(values)
		query = append(query, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	return strings.Join(append(lines, query...), "\n")
}
