// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
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

// begin begins a write. A zero condition permits anything.
func (s *Store) begin(key store.Key, cond store.Condition) (*writing, error) {
	if err := s.mayWrite(key); err != nil {
		return nil, driver.Refused(err)
	}
	w := &writing{s: s, key: key, mark: rand.Text()}
	switch {
	case cond.Absent():
		w.cond = "0"
	case !cond.Version().IsZero():
		var ok bool
		if w.cond, ok = generation(cond.Version()); !ok {
			return nil, s.fail("write", key, noVersion(cond.Version()))
		}
	}
	return w, nil
}

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
	if conditional := c.Op == store.OpPutIf || c.Op == store.OpSplice; conditional && !c.If.Absent() && c.If.Version().IsZero() {
		return store.Version{}, s.fail("write", c.Key, noVersion(c.If.Version()))
	}
	w, err := s.begin(c.Key, c.If)
	if err != nil {
		return store.Version{}, err
	}
	switch c.Op {
	case store.OpSplice:
		if err := s.checkSplice(ctx, c); err != nil {
			return store.Version{}, s.fail("splice", c.Key, err)
		}
		return w.assemble(ctx, s, c.Parts)
	case store.OpAssemble:
		return w.assemble(ctx, s, c.Parts)
	case store.OpGather:
		return w.assemble(ctx, c.From, c.Parts)
	}
	return w.put(ctx, c.Value)
}

// put writes a value, in one request unless it is large.
func (w *writing) put(ctx context.Context, value []byte) (store.Version, error) {
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
	doubt := false
	err := w.s.reads.Do(ctx, func(ctx context.Context) error {
		d = description{}
		err := w.s.send(ctx, c, &d)
		doubt = doubt || err != nil && uncertain(err)
		return err
	})
	return w.settle(ctx, d.Generation, err, doubt)
}

// settle returns the version that a write made. If an answer was lost, doubt is set: an
// attempt that failed may have written the value. Then settle looks for it. It also looks
// after the answer that the condition does not hold: a proxy may have delivered the
// request twice.
func (w *writing) settle(ctx context.Context, made string, err error, doubt bool) (store.Version, error) {
	if err != nil && ctx.Err() == nil && (doubt || isConflict(err)) {
		made, err = w.own(ctx, err, doubt)
	}
	if w.cond != "" && contended(err) && !doubt {
		err = rivals(err)
	}
	// The condition names an object, and there is none.
	if isMissing(err) && w.cond != "" && w.cond != "0" {
		err = conflict(err)
	}
	if !doubt && isRefusal(err) {
		err = driver.Refused(err)
	}
	if err != nil {
		return store.Version{}, w.s.fail("write", w.key, err)
	}
	return store.MakeVersion(made), nil
}

// own returns the generation of the object if this write made it. Otherwise the error is
// cause or, after a lost answer, that the outcome is unknown: another writer may have
// replaced the value of this write, or the service may carry out the write later.
func (w *writing) own(ctx context.Context, cause error, lost bool) (string, error) {
	d, err := w.s.look(ctx, w.key)
	switch {
	case err == nil && d.Metadata[mark] == w.mark:
		return d.Generation, nil
	case !lost && (err == nil || !retry.IsTemporary(err)):
		return "", cause
	case err != nil && !isMissing(err):
		return "", fmt.Errorf("%w; then the object could not be looked at: %v", unknown(cause), err)
	}
	return "", unknown(cause)
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

// noVersion is the error of a condition with the version of another store.
func noVersion(v store.Version) error {
	return fmt.Errorf("%w: the condition asks for version %.40q, which no object has", store.ErrConflict, v)
}

// unknown is the error of a change whose outcome is not known. It does not wrap
// [store.ErrConflict], which would mean that nothing has changed.
func unknown(cause error) error {
	return fmt.Errorf("the answer of the service was lost, and it is not known whether the change was made; read the value again (%v)", cause)
}

// rivals is the error of a conditional change that the service refused at each attempt,
// because others change the object all the time. Nothing has changed.
func rivals(cause error) error {
	return fmt.Errorf("%w: others change the object too often (%v)", store.ErrConflict, cause)
}

// conflict returns an error that is [store.ErrConflict], and no longer [fs.ErrNotExist].
func conflict(cause error) error {
	if isConflict(cause) {
		return cause
	}
	return fmt.Errorf("%w: there is no value (%v)", store.ErrConflict, cause)
}

func isMissing(err error) bool  { return errors.Is(err, fs.ErrNotExist) }
func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
