// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// # A write on a condition
//
// 1. The service checks the condition and writes, in one step. The object gets a random
// mark in its metadata.
//
// 2. After any answer but a success, the object's mark tells whether the write took
// effect: an answer may be lost, and a request may be delivered twice, so that the answer
// is that the condition does not hold.
//
// 3. If it has another mark, or there is no object, an answer that the condition does not
// hold is a conflict. But if an answer was lost, a rival may have come before this write
// or after it: the outcome is unknown.
//
// An answer 409 means that a rival writes at this moment. Nothing was written.
//
// An ETag may be a hash of the content, so it comes back. Then a repetition could replace
// what the caller has never seen. A condition that says so ([store.Condition.Once]) holds
// for one attempt.

// markName is the name of the mark in the metadata of objects.
const markName = "varve-write"

// newMark returns the mark of one write.
func newMark() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// condition is the condition of a write, in the terms of the service. The zero condition
// always holds.
type condition struct {
	none   string // If-None-Match
	match  string // If-Match
	single bool   // make one attempt
}

func (c condition) isUnconditional() bool { return c.none == "" && c.match == "" }

// header adds the condition to the headers of a request.
func (c condition) header(h http.Header) http.Header {
	return set(h, "If-None-Match", c.none, "If-Match", c.match)
}

// anyVersion stands for all versions in a condition.
const anyVersion = "*"

// conditionOf returns the condition, or a conflict if it cannot hold.
func conditionOf(c store.Condition) (condition, error) {
	if c.Absent() {
		return condition{none: anyVersion, single: c.IsUnrepeatable()}, nil
	}
	tag, _ := cut(c.Version())
	if tag == "" {
		return condition{}, fmt.Errorf("s3: %w: no value has the zero version", store.ErrConflict)
	}
	return condition{match: tag, single: c.IsUnrepeatable()}, nil
}

// Can implements [store.Writer]. The service does not change an object in place.
func (s *Store) Can(op store.Op) bool {
	return op >= store.OpPut && op <= store.OpClone && op != store.OpPatch && op != store.OpGather
}

// Write implements [store.Writer]. The service makes every change durable.
//
// Put and Assemble of the bytes that an object has may keep its version. In a bucket
// with versioning, Delete leaves the old versions. Copy is for every store of this
// package with the same service and credentials, and keeps the storage class and the
// encryption, unless the options say otherwise. Clone is such a copy, from one version.
func (s *Store) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	name, err := s.key(c.Key)
	if err != nil {
		return made, err
	}
	switch c.Op {
	case store.OpPut:
		made.Version, err = s.put(ctx, name, pieces{c.Value}, condition{})
	case store.OpPutIf:
		made.Version, err = s.putIf(ctx, name, c)
	case store.OpDelete:
		err = s.remove(ctx, name)
	case store.OpDeleteIf:
		err = s.deleteIf(ctx, name, c)
	case store.OpSplice:
		made.Version, err = s.splice(ctx, name, c)
	case store.OpAssemble:
		made.Version, err = s.assemble(ctx, name, c)
	case store.OpCopy:
		return s.copyFrom(ctx, name, c)
	case store.OpClone:
		return s.clone(ctx, name, c)
	default:
		err = fmt.Errorf("s3: %w: a change of this kind", store.ErrUnsupported)
	}
	return made, err
}

// putIf writes an object on a condition.
func (s *Store) putIf(ctx context.Context, name string, c store.Change) (store.Version, error) {
	cond, err := conditionOf(c.If)
	if err == nil {
		err = refused(s.needs(ctx, writesOnConditions))
	}
	if err != nil {
		return store.Version{}, err
	}
	return s.put(ctx, name, pieces{c.Value}, cond)
}

// same reports whether a write on the condition of a version has kept that version,
// because it wrote the same bytes.
func (c condition) same(v store.Version) bool {
	tag, _ := cut(v)
	return c.match != "" && c.match == tag
}

// put writes the object with a name.
//
// If a write on the condition of a version keeps the ETag, put writes once more, in
// another number of parts, on which the ETag depends. So a rival that has read the old
// version cannot take the new object for the old one. The first of these writes has
// changed no byte, so the second alone counts.
func (s *Store) put(ctx context.Context, name string, data pieces, cond condition) (store.Version, error) {
	if data.size() > singleParts*s.options.PartSize {
		return s.upload(ctx, name, segments{{data: data}}, cond, nil)
	}
	v, err := s.putWhole(ctx, name, data, cond)
	if err != nil || !cond.same(v) {
		return v, err
	}
	return s.putParts(ctx, name, []part{{segments: segments{{data: data}}}}, cond, nil)
}

// putWhole writes an object by one request.
func (s *Store) putWhole(ctx context.Context, name string, data pieces, cond condition) (store.Version, error) {
	w := &writing{s: s, call: call{"PutObject", name}, cond: cond, mark: newMark()}
	q := request{call: w.call, method: http.MethodPut, data: data, header: cond.header(s.newObject(w.mark, nil))}
	q.sending = func(b *body) { w.body.Store(b) }
	if s.options.Endpoint == "" && s.signer.first.base.Scheme == "https" {
		// Amazon's service compares a checksum, which costs less than a hash.
		q.header.Set(hashHeader, "UNSIGNED-PAYLOAD")
		q.header.Set("X-Amz-Checksum-Crc32", data.checksum())
	}
	return w.run(ctx, func(ctx context.Context) (store.Version, error) {
		answer, err := s.send(ctx, q, nil)
		if err != nil {
			return store.Version{}, err
		}
		made := describe(answer)
		if made.tag == "" {
			return store.Version{}, noTag()
		}
		s.versioned.written(made.id)
		return made.version(), nil
	})
}

// newObject returns the headers of a request that makes an object. Unless the options say
// otherwise, the object has the storage class and the encryption of like, which may be
// nil.
func (s *Store) newObject(mark string, like *description) http.Header {
	o := &s.options
	class, encryption, key := o.StorageClass, o.Encryption, o.KMSKey
	if like != nil {
		class = cmp.Or(class, like.class)
		if encryption == "" {
			encryption = like.encryption
			if encryption != "AES256" && encryption != "" {
				key = like.key
			}
		}
	}
	return set(http.Header{}, markHeader, mark, classHeader, class, encryptionHeader, encryption, encryptionKeyHeader, key)
}

// writing is a write in progress.
type writing struct {
	s    *Store
	call call
	cond condition
	mark string
	// completes is set for the completion of an upload. Once it has taken effect, the
	// service no longer knows the upload.
	completes bool
	body      atomic.Pointer[body] // of the present attempt, or nil
	lost      error                // of the first attempt that may have written although it failed
	cut       bool                 // an attempt ended before its body was sent
}

// errUnmet means that the condition does not hold, and errForgotten that there is no such
// upload, after an attempt whose answer was lost. errRevoked means that there is no such
// upload: another writer has aborted it.
var (
	errRevoked   = errors.New("another writer has aborted the upload")
	errUnmet     = errors.New("another writer has replaced the object, and an earlier attempt got no answer")
	errForgotten = errors.New("the service does not know the upload any more, and an earlier attempt got no answer")
)

// run makes attempts until the object is written or the condition fails.
func (w *writing) run(ctx context.Context, attempt func(ctx context.Context) (store.Version, error)) (v store.Version, err error) {
	sending := w.s.reader
	if w.completes {
		sending = w.s.slow
	}
	var only error
	err = sending.Do(ctx, func(ctx context.Context) error {
		var err error
		if v, err = attempt(ctx); err == nil {
			return nil
		}
		err = w.judge(w.s.explain(ctx, w.call, err))
		if w.cond.single {
			only = err
			return errOnce
		}
		return err
	})
	if errors.Is(err, errOnce) {
		err = only
	}
	if err = w.s.withPlace(ctx, w.call, err); err == nil {
		return v, nil
	}
	// Look after the attempts, not within one: it is a request of its own. The last
	// attempt may have written as well.
	conflict := errors.Is(err, store.ErrConflict) || errors.Is(err, errRevoked)
	if (w.lost != nil || conflict) && (w.completes || !w.cond.isUnconditional()) {
		found, lookErr := w.find(ctx)
		switch {
		case lookErr == nil:
			return found, nil
		case !errors.Is(lookErr, errNotOurs):
			return store.Version{}, &explained{w.s.name(w.call), fmt.Errorf("%v; %w: %w", err, errUnseen, lookErr)}
		case errors.Is(err, errUnmet) || errors.Is(err, errForgotten):
			err = fmt.Errorf("%w (%w); it is unknown whether the object was written", err, w.lost)
		}
	}
	if w.lost == nil {
		err = w.unmet(ctx, refused(err))
	}
	return store.Version{}, err
}

// errOnce ends the attempts after the first one.
var errOnce = errors.New("no other attempt is wanted")

// unmet returns the error of a write that no attempt has made. If answers may have been
// lost because they came before the body, it looks whether the condition holds.
func (w *writing) unmet(ctx context.Context, err error) error {
	if !w.cut || w.cond.isUnconditional() || errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
		return err
	}
	out, headErr := w.s.head(ctx, w.call.key)
	there := headErr == nil
	if !there && !errors.Is(headErr, fs.ErrNotExist) {
		return err
	}
	if w.cond.none != "" && there || w.cond.match != "" && (!there || out.tag != w.cond.match) {
		return &explained{w.s.name(w.call), fmt.Errorf("%w: the condition does not hold, and the service cut the connection: %v", store.ErrConflict, err)}
	}
	return err
}

// refused returns the error of a write that no attempt has made. It is
// [store.ErrRefused] for lack of permission or of credentials. A clock that differs is
// not: it may be that of one machine of the service.
func refused(err error) error {
	var f *failure
	bad := errors.As(err, &f) && f.is(credentials) && f.code != clockSkewed // some with status 400
	if bad || errors.Is(err, fs.ErrPermission) || errors.As(err, new(*credentialError)) {
		return driver.Refused(err)
	}
	return err
}

// judge decides what the failure of an attempt means.
func (w *writing) judge(err error) error {
	var f *failure
	answered := errors.As(err, &f)
	switch {
	case errors.As(err, new(*credentialError)): // the request was not sent
		return err
	// Some services answer early that the condition does not hold and close the
	// connection, so that the answer is lost. An incomplete body is never stored.
	case !answered && driver.IsTemporary(err) && w.body.Load().unsent():
		w.cut = true
		return err
	case !answered || f.unsure():
		if w.lost == nil {
			w.lost = err
		}
		return err
	case w.completes && f.code == "NoSuchUpload" && w.lost != nil:
		return &explained{w.s.name(w.call), errForgotten}
	case w.completes && f.code == "NoSuchUpload":
		return &explained{w.s.name(w.call), fmt.Errorf("%w: %v", errRevoked, f)}
	case w.cond.isUnconditional():
		return err
	case f.lacking():
		return fmt.Errorf("%w: the service does not support conditions of writes: %w", store.ErrUnsupported, err)
	// The parts of an upload are lost by that.
	case w.completes && f.status == http.StatusConflict:
	// No object has the version of the condition. A missing bucket is another error.
	case f.unmet(), w.cond.match != "" && f.missing():
	default:
		return err
	}
	if w.lost != nil {
		return &explained{w.s.name(w.call), errUnmet}
	}
	return w.s.conflict(w.call, f)
}

// conflict returns the error of a condition that does not hold.
func (s *Store) conflict(c call, f *failure) error {
	// The failure may wrap fs.ErrNotExist, which callers must not find.
	return &explained{s.name(c), fmt.Errorf("%w: %v", store.ErrConflict, f)}
}

// looking is the longest time to look for the outcome of a write after its context has
// ended.
const looking = 10 * time.Second

// errNotOurs means that the object does not have the mark of a write, and errUnseen that
// this is not known. errOvertaken means that it does not, but may have had it before.
var (
	errNotOurs   = errors.New("the object has another mark")
	errUnseen    = errors.New("then the object could not be looked at")
	errOvertaken = errors.New("then the object was another one")
)

// find returns the version of the object if it has the mark of this write, and else
// errNotOurs.
func (w *writing) find(ctx context.Context) (store.Version, error) {
	// A deletion has no mark, and neither have objects of other programs.
	if w.mark == "" {
		return store.Version{}, errNotOurs
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), looking)
		defer cancel()
	}
	out, err := w.s.head(ctx, w.call.key)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && out.mark != w.mark:
		return store.Version{}, errNotOurs
	case err != nil && w.lost == nil && !driver.IsTemporary(err): // the caller may not look
		return store.Version{}, errNotOurs
	case err != nil:
		return store.Version{}, err
	}
	return out.version(), nil
}

// head describes an object.
func (s *Store) head(ctx context.Context, name string) (*description, error) {
	q := request{call: call{"HeadObject", name}, method: http.MethodHead}
	answer, err := s.repeat(ctx, q, nil)
	if err == nil {
		d := describe(answer)
		if d.tag == "" {
			return nil, &explained{s.name(q.call), noTag()}
		}
		s.versioned.written(d.id)
		return d, nil
	}
	// The page of a proxy may say that there is no object. The reader finds out.
	if f := (*failure)(nil); errors.As(err, &f) && f.page && f.missing() {
		if key, bad := store.ParseKey(strings.TrimPrefix(name, s.prefix)); bad == nil {
			if _, other := s.reader.Stat(ctx, key); other != nil {
				err = other
			}
		}
	}
	return nil, err
}

// written takes what the answer to a write says.
func (v *versioned) written(id string) {
	switch {
	case id != "":
		v.state.Store(versioningOn)
	default:
		v.state.CompareAndSwap(versioningUnknown, versioningOff)
	}
}

var (
	_ store.Writer = (*Store)(nil)
)
