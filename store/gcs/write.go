// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// mark is the name of the metadata by which a store knows its own writes.
const mark = "varve-write"

// writing is one write in progress: its condition and its mark.
type writing struct {
	s    *Store
	key  store.Key
	cond string // the generation that must be there, "0" for none, "" for any
	mark string
}

// noun is what the service calls a stored value.
const noun = "object"

// begin begins a write. A change without a condition permits anything.
func (s *Store) begin(c store.Change) (*writing, error) {
	w := &writing{s: s, key: c.Key, mark: rand.Text()}
	if driver.HasNoCondition(c) {
		return nil, w.Fail("write", driver.NoVersion(c.If.Version(), noun))
	}
	if err := s.mayWrite(c.Key); err != nil {
		return nil, driver.Refused(err)
	}
	switch v := c.If.Version(); {
	case c.If.Absent():
		w.cond = "0"
	case !v.IsZero():
		var ok bool
		if w.cond, ok = generation(v); !ok {
			return nil, w.Fail("write", driver.NoVersion(v, noun))
		}
	}
	return w, nil
}

// Fail implements [driver.Maker].
func (w *writing) Fail(what string, err error) error { return w.s.fail(what, w.key, err) }

// Can implements [store.Writer]. The service does not change an object in place.
func (s *Store) Can(op store.Op) bool {
	return op >= store.OpPut && op <= store.OpClone && op != store.OpPatch
}

// Write implements [store.Writer]. The service makes every change durable.
//
// It can join whole objects (compose), at most 32. Assemble lets it do so if the parts
// are that, and large. Otherwise Assemble, Gather and Splice read the parts and upload
// them, with at most four pieces of 16 MiB in memory. Copy is for sources in the same
// service that are read with the same credentials: the copy has the metadata of the
// source and its key, and the storage class of the options or of the bucket. Clone is a
// copy on the condition that the source is of its version.
func (s *Store) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	switch c.Op {
	case store.OpPut, store.OpPutIf, store.OpSplice, store.OpAssemble, store.OpGather:
		made.Version, err = s.make(ctx, c)
	case store.OpDelete:
		err = s.delete(ctx, c.Key)
	case store.OpDeleteIf:
		err = s.deleteIf(ctx, c.Key, c.If.Version())
	case store.OpCopy:
		return s.copyFrom(ctx, c)
	case store.OpClone:
		return s.clone(ctx, c)
	default:
		err = s.fail("change", c.Key, store.ErrUnsupported)
	}
	return made, err
}

// make makes a value of new bytes, or of parts.
func (s *Store) make(ctx context.Context, c store.Change) (store.Version, error) {
	w, err := s.begin(c)
	if err != nil {
		return store.Version{}, err
	}
	return driver.Make(ctx, s, c, w)
}

// Put writes a value, in one request unless it is large.
func (w *writing) Put(ctx context.Context, value []byte) (store.Version, error) {
	if len(value) > mostAtOnce {
		u := &upload{w: w, size: int64(len(value)), sum: checksum(value)}
		made, err := u.all(ctx, value)
		return w.settle(ctx, made, err, u.doubt)
	}
	return w.repeat(ctx, w.insert(value))
}

// repeat makes attempts of the call that writes the value, and returns its version.
func (w *writing) repeat(ctx context.Context, c call) (store.Version, error) {
	var d description
	doubt, err := driver.Attempts(w.s.reads.Do).Change(ctx, func(ctx context.Context) error {
		d = description{}
		return w.s.send(ctx, c, &d)
	})
	return w.settle(ctx, d.Generation, err, doubt)
}

// settle returns the version that a write made. doubt means that an answer was lost.
func (w *writing) settle(ctx context.Context, made string, err error, doubt bool) (store.Version, error) {
	made, err = driver.Write{Look: w.look, Noun: noun, HasVersion: w.cond != "" && w.cond != "0"}.Settle(ctx, made, err, doubt)
	if w.cond != "" && contended(err) && !doubt {
		err = rivals(err)
	}
	if err != nil {
		return store.Version{}, w.Fail("write", err)
	}
	return store.MakeVersion(made), nil
}

// look returns the generation of the object, and whether this write made it.
func (w *writing) look(ctx context.Context) (string, bool, error) {
	d, err := w.s.look(ctx, w.key)
	return d.Generation, d.Metadata[mark] == w.mark, err
}

// resource is the description of a new object.
type resource struct {
	Name         string            `json:"name,omitempty"`
	ContentType  string            `json:"contentType"`
	CacheControl string            `json:"cacheControl"`
	StorageClass string            `json:"storageClass,omitempty"`
	Checksum     string            `json:"crc32c,omitempty"`
	Metadata     map[string]string `json:"metadata"`
}

// resource describes the object that a write makes. The service compares the checksum.
func (w *writing) resource(sum string) resource {
	kind := "application/octet-stream"
	if strings.HasSuffix(w.key.String(), ".json") {
		kind = "application/json"
	}
	return resource{
		Name: w.s.object(w.key), ContentType: kind, CacheControl: cmp.Or(w.s.options.CacheControl, "no-cache"),
		StorageClass: w.s.options.StorageClass, Checksum: sum, Metadata: map[string]string{mark: w.mark},
	}
}

// query returns the condition and the key of a write with other parameters.
func (w *writing) query(q url.Values) url.Values {
	if key := w.s.options.KMSKey; key != "" {
		q.Set("kmsKeyName", key)
	}
	if w.cond != "" {
		q.Set("ifGenerationMatch", w.cond)
	}
	return q
}

// insert returns the call that writes a value and its description in one request.
func (w *writing) insert(value []byte) call {
	boundary := rand.Text() // a value has it with a probability of 2^-130
	head := fmt.Appendf(nil, "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n--%s\r\nContent-Type: application/octet-stream\r\n\r\n",
		boundary, encode(w.resource(checksum(value))), boundary)
	return call{
		method: http.MethodPost, path: "/upload/storage/v1/b/" + w.s.bucket + "/o",
		query:  w.query(url.Values{"uploadType": {"multipart"}, "fields": {described}}),
		header: http.Header{"Content-Type": {"multipart/related; boundary=" + boundary}},
		body:   [][]byte{head, value, []byte("\r\n--" + boundary + "--\r\n")},
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of a value in the form of the service.
func checksum(value []byte) string { return sumText(crc32.Checksum(value, castagnoli)) }

func sumText(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// rivals is the error of a conditional change that the service refused at each attempt,
// because others change the object all the time. Nothing has changed.
func rivals(cause error) error {
	return fmt.Errorf("%w: others change the object too often (%v)", store.ErrConflict, cause)
}
