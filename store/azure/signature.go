// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// signature signs a text with a key of the account.
func signature(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// stringToSign returns what a request with a key signs ("Authorize with Shared Key", the
// form since version 2015-02-21): the method, headers, and the resource with its query.
func stringToSign(r *http.Request, account string) string {
	var b strings.Builder
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	h := r.Header
	for _, line := range []string{
		r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"), h.Get("Content-Type"),
		"", // Date, in place of which there is X-Ms-Date
		h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range"),
	} {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	own := map[string]string{}
	for name, values := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own[name] = strings.Join(values, ",")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		b.WriteString(name + ":" + own[name] + "\n")
	}
	b.WriteString("/" + account + r.URL.EscapedPath())
	q := r.URL.Query()
	for _, name := range slices.SortedFunc(maps.Keys(q), func(x, y string) int { return strings.Compare(strings.ToLower(x), strings.ToLower(y)) }) {
		slices.Sort(q[name])
		b.WriteString("\n" + strings.ToLower(name) + ":" + strings.Join(q[name], ","))
	}
	return b.String()
}
