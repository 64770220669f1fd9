// SPDX-License-Identifier: Apache-2.0

package azuretest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	key, err := base64.StdEncoding.DecodeString(Key)
	if err != nil {
		return false
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(toSign(r, account)))
	return hmac.Equal([]byte(sum), []byte(base64.StdEncoding.EncodeToString(h.Sum(nil))))
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
