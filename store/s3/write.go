// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
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
	none   *string // If-None-Match
	match  *string // If-Match
	single bool    // make one attempt
}

func (c condition) isUnconditional() bool { return c.none == nil && c.match == nil }

// conditionOf returns the condition, or a conflict if it cannot hold.
func conditionOf(c store.Condition) (condition, error) {
	if c.Absent() {
		return condition{none: pointer("*"), single: c.IsUnrepeatable()}, nil
	}
	tag, _ := cut(c.Version())
	if tag == "" {
		return condition{}, fmt.Errorf("s3: %w: no value has the zero version", store.ErrConflict)
	}
	return condition{match: &tag, single: c.IsUnrepeatable()}, nil
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
	return c.match != nil && *c.match == tag
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
	return w.run(ctx, func(ctx context.Context, o option) (store.Version, error) {
		in := s.putInput(name, w.mark)
		w.body = data.body()
		in.Body, in.ContentLength, in.IfMatch, in.IfNoneMatch = w.body, pointer(data.size()), cond.match, cond.none
		out, err := s.client.PutObject(ctx, in, o)
		if err != nil {
			return store.Version{}, err
		}
		if value(out.ETag) == "" {
			return store.Version{}, noTag()
		}
		s.versioned.written(out.VersionId)
		return makeVersion(out.ETag, out.VersionId), nil
	})
}

// putInput returns a request that writes an object, without its body.
func (s *Store) putInput(name, mark string) *s3.PutObjectInput {
	o := &s.options
	return &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &name, Metadata: map[string]string{markName: mark}, StorageClass: types.StorageClass(o.StorageClass),
		ServerSideEncryption: types.ServerSideEncryption(o.Encryption), SSEKMSKeyId: text(o.KMSKey), RequestPayer: s.payer(),
	}
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
	body      *body // of the present attempt, or nil
	lost      error // of the first attempt that may have written although it failed
	cut       bool  // an attempt ended before its body was sent
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
func (w *writing) run(ctx context.Context, attempt func(ctx context.Context, o option) (store.Version, error)) (v store.Version, err error) {
	sending := w.s.reader
	if w.completes {
		sending = w.s.slow
	}
	var only error
	err = sending.Do(ctx, func(ctx context.Context) error {
		err := w.s.followRegion(ctx, func(ctx context.Context, o option) (err error) {
			v, err = attempt(ctx, o)
			return err
		})
		if err == nil {
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
	if w.cond.none != nil && there || w.cond.match != nil && (!there || value(out.ETag) != *w.cond.match) {
		return &explained{w.s.name(w.call), fmt.Errorf("%w: the condition does not hold, and the service cut the connection: %v", store.ErrConflict, err)}
	}
	return err
}

// refused returns the error of a write that no attempt has made. It is
// [store.ErrRefused] for lack of permission or of credentials. A clock that differs is
// not: it may be that of one machine of the service.
func refused(err error) error {
	var f *failure
	bad := errors.As(err, &f) && f.credentials() && f.code != "RequestTimeTooSkewed" // some with status 400
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
	case !answered && retry.IsTemporary(err) && w.body != nil && w.body.unsent():
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
	case f.unmet(), w.cond.match != nil && f.missing():
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
	case errors.Is(err, fs.ErrNotExist), err == nil && out.Metadata[markName] != w.mark:
		return store.Version{}, errNotOurs
	case err != nil && w.lost == nil && !retry.IsTemporary(err): // the caller may not look
		return store.Version{}, errNotOurs
	case err != nil:
		return store.Version{}, err
	}
	return makeVersion(out.ETag, out.VersionId), nil
}

// head describes an object.
func (s *Store) head(ctx context.Context, name string) (out *s3.HeadObjectOutput, err error) {
	err = s.do(ctx, call{"HeadObject", name}, func(ctx context.Context, o option) (err error) {
		out, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &name, RequestPayer: s.payer()}, o)
		if err == nil && value(out.ETag) == "" {
			err = noTag()
		}
		return err
	})
	if err == nil {
		s.versioned.written(out.VersionId)
		return out, nil
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
func (v *versioned) written(id *string) {
	switch {
	case value(id) != "":
		v.state.Store(versioningOn)
	default:
		v.state.CompareAndSwap(versioningUnknown, versioningOff)
	}
}

var (
	_ store.Writer = (*Store)(nil)
)
