// SPDX-License-Identifier: Apache-2.0

// Package azuretest serves the part of Azure Blob Storage that the driver uses, in the
// process of a test.
package azuretest

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the key of the account, in Base64. The fake refuses requests that are signed
// with another one, and takes those without a signature or with one in their query.
var Key = base64.StdEncoding.EncodeToString([]byte("secret key"))

// Fake is the part of the service that the driver uses, as its documentation describes
// it, for the container "box" of the account "acme".
type Fake struct {
	sync.Mutex // guards what follows while a client runs

	Blobs    map[string]*Blob
	Pending  bool // the answers to copies say that they continue
	Requests []*http.Request

	last int
	hook Hook
}

// Hook may answer a request itself, and then returns true. It may also return another
// writer for the answer.
type Hook func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool)

// Blob is a blob of the container.
type Blob struct {
	Value    []byte
	Tag      string // "" for a blob that has only blocks
	Modified time.Time
	Scope    string // of the encryption, "" for the default

	mark   string
	copyID string // of the copy that made it
	blocks map[string]block
}

// block is a part of a blob that is not there yet.
type block struct {
	value []byte
	scope string
}

// Serve starts a fake, which ends with the test, and returns its endpoint.
func Serve(t testing.TB) (*Fake, string) {
	f := &Fake{Blobs: map[string]*Blob{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return f, s.URL
}

// On sets the hook. Nil is none.
func (f *Fake) On(hook Hook) {
	f.Lock()
	defer f.Unlock()
	f.hook = hook
}

// ServeHTTP implements [http.Handler].
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	f.Lock()
	f.Requests = append(f.Requests, r)
	hook := f.hook
	f.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body)) // a hook may deliver it once more
	if hook != nil {
		var done bool
		if w, done = hook(w, r); done {
			return
		}
	}
	f.Lock()
	defer f.Unlock()
	w.Header().Set("X-Ms-Version", r.Header.Get("X-Ms-Version"))
	name, inBox := strings.CutPrefix(r.URL.Path, "/box")
	name = strings.TrimPrefix(name, "/")
	switch q := r.URL.Query(); {
	case !signed(r):
		Fail(w, http.StatusForbidden, "AuthenticationFailed")
	case !inBox:
		Fail(w, http.StatusNotFound, "ContainerNotFound")
	case q.Get("comp") == "list":
		f.list(w, q)
	case q.Get("comp") == "block":
		b := f.Blobs[name]
		if b == nil {
			b = &Blob{blocks: map[string]block{}}
			f.Blobs[name] = b
		} else if b.blocks == nil {
			b.blocks = map[string]block{}
		}
		if r.Header.Get("X-Ms-Copy-Source") != "" {
			var status int
			var code string
			if body, status, code = f.rangeOf(r); code != "" {
				Fail(w, status, code)
				return
			}
		}
		b.blocks[q.Get("blockid")] = block{body, r.Header.Get(scopeHeader)}
		w.WriteHeader(http.StatusCreated)
	default:
		f.blob(w, r, name, body)
	}
}

// Fail answers with an error of the service.
func Fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Ms-Error-Code", code)
	w.Header().Set("X-Ms-Request-Id", "request-17")
	w.WriteHeader(status)
	fmt.Fprintf(w, "\ufeff<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>The message.\nRequestId:1\nTime:2</Message></Error>", code)
}

// present returns the committed blob of a name, or nil.
func (f *Fake) present(name string) *Blob {
	if b := f.Blobs[name]; b != nil && b.Tag != "" {
		return b
	}
	return nil
}

// blob serves requests for one blob.
func (f *Fake) blob(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	b := f.present(name)
	match := r.Header.Get("If-Match")
	switch {
	case b == nil && (r.Method != http.MethodPut):
		Fail(w, http.StatusNotFound, "BlobNotFound")
	case match != "" && (b == nil || b.Tag != match):
		Fail(w, http.StatusPreconditionFailed, "ConditionNotMet")
	case r.Header.Get("If-None-Match") == "*" && b != nil:
		Fail(w, http.StatusConflict, "BlobAlreadyExists")
	case r.Method == http.MethodDelete:
		delete(f.Blobs, name)
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		f.put(w, r, name, body)
	case strings.HasPrefix(r.Header.Get("Range"), "bytes=-"):
		Fail(w, http.StatusBadRequest, "InvalidHeaderValue")
	default:
		w.Header().Set("ETag", b.Tag)
		w.Header().Set("X-Ms-Meta-Varve_write", b.mark)
		if b.Scope != "" {
			w.Header().Set(scopeHeader, b.Scope)
		}
		if b.copyID != "" {
			w.Header().Set("X-Ms-Copy-Id", b.copyID)
			w.Header().Set("X-Ms-Copy-Status", "success")
		}
		r.Header.Del("If-Match")
		http.ServeContent(w, r, "", b.Modified, bytes.NewReader(b.Value))
	}
}

// rangeOf returns the bytes that a request copies into a block, or the status and code of
// a failure.
func (f *Fake) rangeOf(r *http.Request) (value []byte, status int, code string) {
	u, err := url.Parse(r.Header.Get("X-Ms-Copy-Source"))
	if err != nil || len(r.Header["X-Ms-Source-Range"]) != 1 || r.ContentLength > 0 {
		return nil, http.StatusBadRequest, "InvalidHeaderValue"
	}
	name, inBox := strings.CutPrefix(u.Path, "/box/")
	from := f.present(name)
	var first, last int
	_, err = fmt.Sscanf(r.Header.Get("X-Ms-Source-Range"), "bytes=%d-%d", &first, &last)
	switch {
	case !readable(r, u):
		return nil, http.StatusForbidden, "CannotVerifyCopySource"
	case !inBox || from == nil:
		return nil, http.StatusNotFound, "CannotVerifyCopySource"
	case r.Header.Get("X-Ms-Source-If-Match") != from.Tag:
		return nil, http.StatusPreconditionFailed, "SourceConditionNotMet"
	case err != nil || last < first || last >= len(from.Value):
		return nil, http.StatusRequestedRangeNotSatisfiable, "InvalidRange"
	}
	return from.Value[first : last+1], 0, ""
}

// scopeHeader is the header with the encryption scope of a blob.
const scopeHeader = "X-Ms-Encryption-Scope"

func (f *Fake) put(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	made := &Blob{Value: body, Modified: time.Now(), mark: r.Header.Get("X-Ms-Meta-Varve_write"), Scope: r.Header.Get(scopeHeader)}
	status := http.StatusCreated
	switch source := r.Header.Get("X-Ms-Copy-Source"); {
	case source != "" && made.Scope != "":
		Fail(w, http.StatusBadRequest, "UnsupportedHeader") // such a copy has no scope
		return
	case source != "":
		u, err := url.Parse(source)
		from := f.present(strings.TrimPrefix(u.Path, "/box/"))
		match := r.Header.Get("X-Ms-Source-If-Match")
		if err != nil || from == nil {
			Fail(w, http.StatusNotFound, "BlobNotFound")
			return
		}
		if match != "" && match != from.Tag {
			Fail(w, http.StatusPreconditionFailed, "SourceConditionNotMet")
			return
		}
		made.Value, made.mark, status = from.Value, from.mark, http.StatusAccepted
		made.copyID = "copy-" + strconv.Itoa(f.last)
		w.Header().Set("X-Ms-Copy-Id", made.copyID)
		w.Header().Set("X-Ms-Copy-Status", "success")
		if f.Pending {
			w.Header().Set("X-Ms-Copy-Status", "pending")
		}
	case r.URL.Query().Get("comp") == "blocklist":
		var list struct{ Latest []string }
		if xml.Unmarshal(body, &list) != nil {
			Fail(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		made.Value = nil
		for _, id := range list.Latest {
			part, ok := block{}, false
			if f.Blobs[name] != nil {
				part, ok = f.Blobs[name].blocks[id]
			}
			if !ok || part.scope != made.Scope {
				Fail(w, http.StatusBadRequest, "InvalidBlockList")
				return
			}
			made.Value = append(made.Value, part.value...)
		}
	case r.Header.Get("X-Ms-Blob-Type") != "BlockBlob":
		Fail(w, http.StatusBadRequest, "MissingRequiredHeader")
		return
	}
	f.last++
	made.Tag = fmt.Sprintf("%q", "0x"+strconv.Itoa(f.last))
	f.Blobs[name] = made
	w.Header().Set("ETag", made.Tag)
	w.WriteHeader(status)
}

// list answers with small pages, and with directories and values in order.
func (f *Fake) list(w http.ResponseWriter, q url.Values) {
	const most = 40
	prefix, seen := q.Get("prefix"), map[string]bool{}
	for n := range f.Blobs {
		rest, below := strings.CutPrefix(n, prefix)
		if i := strings.Index(rest, "/"); q.Get("delimiter") == "/" && i >= 0 {
			n = prefix + rest[:i+1]
		}
		if below && n > q.Get("marker") && (strings.HasSuffix(n, "/") || f.present(n) != nil) {
			seen[n] = true
		}
	}
	var all []string
	for n := range seen {
		all = append(all, n)
	}
	slices.Sort(all)
	next := ""
	if len(all) > most {
		all = all[:most]
		next = all[most-1]
	}
	fmt.Fprint(w, "\ufeff<?xml version=\"1.0\"?><EnumerationResults><Blobs>")
	for _, n := range all {
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(n))
		if b := f.present(n); b != nil {
			fmt.Fprintf(w, "<Blob><Name>%s</Name><Properties><Etag>%s</Etag><Content-Length>%d</Content-Length><Last-Modified>%s</Last-Modified></Properties></Blob>",
				&text, strings.Trim(b.Tag, `"`), len(b.Value), b.Modified.UTC().Format(http.TimeFormat))
		} else {
			fmt.Fprintf(w, "<BlobPrefix><Name>%s</Name></BlobPrefix>", &text)
		}
	}
	fmt.Fprintf(w, "</Blobs><NextMarker>%s</NextMarker></EnumerationResults>", next)
}
