// SPDX-License-Identifier: Apache-2.0

// Package gcstest serves the part of Google Cloud Storage that the driver uses, in the
// process of a test.
package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fake is the part of the service that the driver uses, as its documentation describes
// it, with one bucket named "bucket". It does not ask for credentials.
type Fake struct {
	sync.Mutex // guards what follows while a client runs

	Objects  map[string]*Object
	Last     int64 // generation
	Uploads  map[string]*Upload
	Requests []string // method and path of every request

	begun    int               // uploads
	finished map[string]string // the objects of the uploads that are finished
	hook     Hook
}

// Hook may answer a request itself, and then returns true. It may also return another
// writer for the answer.
type Hook func(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, bool)

// Object is an object of the bucket.
type Object struct {
	Value      []byte
	Generation int64
	KMSKey     string // without a version, "" for the service's own keys

	updated time.Time
	meta    map[string]any
}

// Upload is an upload in pieces that has begun.
type Upload struct {
	name, cond, key string
	size            int64
	value           []byte
	meta            map[string]any
}

// Serve starts a fake, which ends with the test, and returns its URL.
func Serve(t testing.TB) (*Fake, string) {
	f := &Fake{Objects: map[string]*Object{}, Uploads: map[string]*Upload{}}
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

// Put stores a value, as another client would.
func (f *Fake) Put(name string, value []byte) {
	f.Lock()
	defer f.Unlock()
	f.Last++
	f.Objects[name] = &Object{Value: value, Generation: f.Last, updated: time.Now()}
}

// ServeHTTP implements [http.Handler].
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	f.Requests = append(f.Requests, r.Method+" "+r.URL.EscapedPath())
	hook := f.hook
	f.Unlock()
	if hook != nil {
		var done bool
		if w, done = hook(w, r); done {
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	f.Lock()
	defer f.Unlock()
	path, q := r.URL.EscapedPath(), r.URL.Query()
	switch {
	case strings.HasPrefix(path, "/download/storage/v1/b/bucket/o/"):
		f.download(w, r, name(path, "/download/storage/v1/b/bucket/o/"))
	case path == "/upload/storage/v1/b/bucket/o" && q.Get("uploadType") == "multipart":
		f.insert(w, r, body)
	case path == "/upload/storage/v1/b/bucket/o" && q.Get("uploadType") == "resumable":
		f.begin(w, r, body)
	case strings.HasPrefix(path, "/upload/session/"):
		f.piece(w, r, strings.TrimPrefix(path, "/upload/session/"), body)
	case path == "/storage/v1/b/bucket/o":
		f.list(w, q)
	case strings.Contains(path, "/rewriteTo/b/bucket/o/"):
		from, to, _ := strings.Cut(strings.TrimPrefix(path, "/storage/v1/b/bucket/o/"), "/rewriteTo/b/bucket/o/")
		f.rewrite(w, q, name(from, ""), name(to, ""))
	case strings.HasSuffix(path, "/compose"):
		f.compose(w, q, name(strings.TrimSuffix(path, "/compose"), "/storage/v1/b/bucket/o/"), body)
	case strings.HasPrefix(path, "/storage/v1/b/bucket/o/"):
		f.object(w, r, name(path, "/storage/v1/b/bucket/o/"))
	default:
		Fail(w, http.StatusNotFound, "The specified bucket does not exist.")
	}
}

func name(path, prefix string) string {
	n, err := url.PathUnescape(strings.TrimPrefix(path, prefix))
	if err != nil || strings.Contains(strings.TrimPrefix(path, prefix), "/") {
		panic("the path " + path + " is not escaped")
	}
	return n
}

// Fail answers with an error of the service.
func Fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("X-Guploader-Uploadid", "request-17")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"reason":"reason","message":%q}]}}`, status, message, message)
}

// holds reports whether a condition holds, and answers if it does not.
func (f *Fake) holds(w http.ResponseWriter, name, cond string) bool {
	now := "0"
	if o := f.Objects[name]; o != nil {
		now = strconv.FormatInt(o.Generation, 10)
	}
	if cond == "" || cond == now {
		return true
	}
	Fail(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
	return false
}

func (f *Fake) describe(name string, o *Object) map[string]any {
	d := map[string]any{
		"name": name, "generation": strconv.FormatInt(o.Generation, 10), "size": strconv.Itoa(len(o.Value)),
		"updated": o.updated.UTC().Format(time.RFC3339Nano), "metadata": o.meta["metadata"],
	}
	if o.KMSKey != "" {
		d["kmsKeyName"] = o.KMSKey + "/cryptoKeyVersions/1"
	}
	return d
}

// isKey reports whether a text names a key as requests do, and answers if it does not.
// Answers add the version of the key, with which no request may name it.
func isKey(w http.ResponseWriter, name string) bool {
	if name == "" || keyName.MatchString(name) {
		return true
	}
	Fail(w, http.StatusBadRequest, "Malformed Cloud KMS crypto key: "+name)
	return false
}

var keyName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// Answer answers with a document in JSON.
func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *Fake) put(w http.ResponseWriter, name, key string, value []byte, meta map[string]any) {
	if !isKey(w, key) {
		return
	}
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli))))
	if declared, ok := meta["crc32c"]; ok && declared != sum {
		Fail(w, http.StatusBadRequest, "the checksum differs")
		return
	}
	f.Last++
	f.Objects[name] = &Object{value, f.Last, key, time.Now(), meta}
	Answer(w, f.describe(name, f.Objects[name]))
}

func (f *Fake) download(w http.ResponseWriter, r *http.Request, name string) {
	o := f.Objects[name]
	if o == nil {
		http.Error(w, "No such object: bucket/"+name, http.StatusNotFound)
		return
	}
	if !f.holds(w, name, r.URL.Query().Get("ifGenerationMatch")) {
		return
	}
	w.Header().Set("X-Goog-Generation", strconv.FormatInt(o.Generation, 10))
	http.ServeContent(w, r, "", o.updated, bytes.NewReader(o.Value))
}

func (f *Fake) insert(w http.ResponseWriter, r *http.Request, body []byte) {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var pieces [][]byte
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			break
		}
		text, _ := io.ReadAll(p)
		pieces = append(pieces, text)
	}
	meta := map[string]any{}
	if len(pieces) != 2 || json.Unmarshal(pieces[0], &meta) != nil {
		Fail(w, http.StatusBadRequest, "not a description and a value")
		return
	}
	if n := meta["name"].(string); f.holds(w, n, r.URL.Query().Get("ifGenerationMatch")) {
		f.put(w, n, r.URL.Query().Get("kmsKeyName"), pieces[1], meta)
	}
}

func (f *Fake) begin(w http.ResponseWriter, r *http.Request, body []byte) {
	q := r.URL.Query()
	size, err := strconv.ParseInt(r.Header.Get("X-Upload-Content-Length"), 10, 64)
	u := &Upload{name: q.Get("name"), cond: q.Get("ifGenerationMatch"), key: q.Get("kmsKeyName"), size: size, meta: map[string]any{}}
	if err != nil || json.Unmarshal(body, &u.meta) != nil {
		Fail(w, http.StatusBadRequest, "no size, or no description")
		return
	}
	if !isKey(w, u.key) || !f.holds(w, u.name, u.cond) {
		return
	}
	f.begun++ // no ID is used twice
	id := strconv.Itoa(f.begun)
	f.Uploads[id] = u
	w.Header().Set("Location", "http://"+r.Host+"/upload/session/"+id)
}

func (f *Fake) piece(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	u := f.Uploads[id]
	if name, finished := f.finished[id]; finished && r.Method == http.MethodPut {
		f.again(w, name, body)
		return
	}
	if u == nil || r.Method == http.MethodDelete {
		delete(f.Uploads, id)
		w.WriteHeader(499)
		return
	}
	var first, last, total int64
	if n, _ := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); n == 3 {
		if first != int64(len(u.value)) || last-first+1 != int64(len(body)) || total != u.size || len(body)%(256<<10) != 0 && last+1 != total {
			Fail(w, http.StatusBadRequest, "not the next bytes")
			return
		}
		u.value = append(u.value, body...)
	}
	if int64(len(u.value)) == u.size {
		if f.holds(w, u.name, u.cond) {
			before := f.Last
			f.put(w, u.name, u.key, u.value, u.meta)
			if f.Last > before {
				f.finish(id, u.name)
			}
		}
		return
	}
	if len(u.value) > 0 {
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(u.value)-1))
	}
	w.WriteHeader(http.StatusPermanentRedirect)
}

// finish ends an upload that has made an object.
func (f *Fake) finish(id, name string) {
	delete(f.Uploads, id)
	if f.finished == nil {
		f.finished = map[string]string{}
	}
	f.finished[id] = name
}

// again answers a request for an upload that is finished. A question without bytes gets
// the object, and no more bytes are taken.
func (f *Fake) again(w http.ResponseWriter, name string, body []byte) {
	o := f.Objects[name]
	switch {
	case len(body) > 0:
		Fail(w, http.StatusBadRequest, "the upload is finished")
	case o == nil:
		Fail(w, http.StatusGone, "the object of the upload was deleted")
	default:
		Answer(w, f.describe(name, o))
	}
}

// list answers with small pages, and with directories and values in order.
func (f *Fake) list(w http.ResponseWriter, q url.Values) {
	const most = 40
	prefix, seen := q.Get("prefix"), map[string]bool{}
	for n := range f.Objects {
		rest, below := strings.CutPrefix(n, prefix)
		if i := strings.Index(rest, "/"); q.Get("delimiter") == "/" && i >= 0 {
			n = prefix + rest[:i+1]
		}
		if below && n > q.Get("pageToken") {
			seen[n] = true
		}
	}
	var all []string
	for n := range seen {
		all = append(all, n)
	}
	slices.Sort(all)
	page := map[string]any{}
	if len(all) > most {
		all = all[:most]
		page["nextPageToken"] = all[most-1]
	}
	var items []any
	var prefixes []string
	for _, n := range all {
		if o := f.Objects[n]; o != nil {
			items = append(items, f.describe(n, o))
		} else {
			prefixes = append(prefixes, n)
		}
	}
	page["items"], page["prefixes"] = items, prefixes
	Answer(w, page)
}

func (f *Fake) object(w http.ResponseWriter, r *http.Request, name string) {
	o := f.Objects[name]
	cond := r.URL.Query().Get("ifGenerationMatch")
	switch {
	case o == nil:
		Fail(w, http.StatusNotFound, "No such object: bucket/"+name)
	case !f.holds(w, name, cond):
	case r.Method == http.MethodDelete:
		delete(f.Objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		Answer(w, f.describe(name, o))
	}
}

// rewrite copies in two requests.
func (f *Fake) rewrite(w http.ResponseWriter, q url.Values, from, to string) {
	o := f.Objects[from]
	switch {
	case o == nil:
		Fail(w, http.StatusNotFound, "No such object: bucket/"+from)
	case !f.holds(w, from, q.Get("ifSourceGenerationMatch")):
	case !isKey(w, q.Get("destinationKmsKeyName")):
	case q.Get("rewriteToken") == "":
		Answer(w, map[string]any{"done": false, "rewriteToken": "token"})
	default:
		f.Last++
		made := &Object{o.Value, f.Last, q.Get("destinationKmsKeyName"), time.Now(), o.meta}
		f.Objects[to] = made
		Answer(w, map[string]any{"done": true, "resource": f.describe(to, made)})
	}
}

func (f *Fake) compose(w http.ResponseWriter, q url.Values, to string, body []byte) {
	var asked struct {
		Sources []struct {
			Name       string
			Generation string
			Conditions struct{ IfGenerationMatch string } `json:"objectPreconditions"`
		} `json:"sourceObjects"`
		Destination map[string]any
	}
	if json.Unmarshal(body, &asked) != nil || len(asked.Sources) > 32 {
		Fail(w, http.StatusBadRequest, "not a list of at most 32 sources")
		return
	}
	var value []byte
	for _, s := range asked.Sources {
		if f.Objects[s.Name] == nil {
			Fail(w, http.StatusNotFound, "No such object: bucket/"+s.Name)
			return
		}
		if !f.holds(w, s.Name, s.Conditions.IfGenerationMatch) {
			return
		}
		value = append(value, f.Objects[s.Name].Value...)
	}
	if f.holds(w, to, q.Get("ifGenerationMatch")) {
		f.put(w, to, q.Get("kmsKeyName"), value, asked.Destination)
	}
}
