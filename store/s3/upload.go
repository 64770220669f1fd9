// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// upload is an upload in parts. No reader sees it before it is complete. If the program
// crashes, it stays until [Store.Sweep] or a rule of the bucket removes it.
type upload struct {
	s     *Store
	name  string
	id    string
	mark  string // of the object
	parts []completedPart
}

// completedPart is a part in the request that completes an upload.
type completedPart struct {
	ETag       string
	PartNumber int
}

// errNoCopies means that the service cannot copy ranges into an upload.
var errNoCopies = errors.New("the service does not copy ranges")

// upload writes an object in parts, and makes it visible if the condition holds. It keeps
// the storage class and encryption of like, unless that is nil or the options say
// otherwise.
func (s *Store) upload(
	ctx context.Context, name string, from segments, cond condition, like *description,
) (store.Version, error) {
	v, err := s.uploadOnce(ctx, name, from, defaultCuts(s), cond, like)
	if err != nil || !cond.same(v) {
		return v, err
	}
	// See [Store.put].
	return s.uploadOnce(ctx, name, from, defaultCuts(s).other(), cond, like)
}

// cuts are the sizes of the parts of an upload.
type cuts struct {
	joined, copied int64
}

func defaultCuts(s *Store) cuts { return cuts{s.options.PartSize, mostCopy} }

// other returns cuts that give an object of several parts another ETag.
func (c cuts) other() cuts { return cuts{c.joined + leastPart, c.copied / 2} }

// uploadOnce makes one upload, and a second one if the service does not copy ranges.
func (s *Store) uploadOnce(
	ctx context.Context, name string, from segments, c cuts, cond condition, like *description,
) (store.Version, error) {
	may := !s.noCopies.Load()
	if may && like != nil { // some bytes are copied
		var err error
		if may, err = s.mayCopy(ctx); err != nil {
			return store.Version{}, err
		}
	}
	v, err := s.putParts(ctx, name, from.parts(c, !may), cond, like)
	if errors.Is(err, errNoCopies) {
		s.noCopies.Store(true)
		v, err = s.putParts(ctx, name, from.parts(c, true), cond, like)
	}
	return v, err
}

// mostRevoked is how often an upload without a condition begins again because another
// writer has aborted it.
const mostRevoked = 5

// putParts uploads an object in parts. Whoever replaces the object under a fence aborts
// all uploads of its key (see draft.go): for a write on a condition that is a conflict,
// and any other one begins again.
func (s *Store) putParts(
	ctx context.Context, name string, parts []part, cond condition, like *description,
) (v store.Version, err error) {
	for range mostRevoked {
		if v, err = s.putPartsOnce(ctx, name, parts, cond, like); !errors.Is(err, errRevoked) || !cond.isUnconditional() {
			break
		}
	}
	return v, revocation(err)
}

// revocation returns the error of a write whose upload was aborted: a conflict.
func revocation(err error) error {
	if errors.Is(err, errRevoked) {
		return fmt.Errorf("%w: %v", store.ErrConflict, err)
	}
	return err
}

func (s *Store) putPartsOnce(
	ctx context.Context, name string, parts []part, cond condition, like *description,
) (store.Version, error) {
	if len(parts) > mostParts {
		return store.Version{}, fmt.Errorf("%s: %w: %d parts, at most %d are allowed", s.name(call{key: name}), store.ErrTooLarge, len(parts), mostParts)
	}
	u, err := s.newUpload(ctx, name, parts, like)
	if err != nil {
		return store.Version{}, err
	}
	v, err := u.complete(ctx, cond)
	if err != nil {
		u.abort(ctx)
		return store.Version{}, err
	}
	return v, nil
}

// newUpload begins an upload and sends its parts.
func (s *Store) newUpload(ctx context.Context, name string, parts []part, like *description) (*upload, error) {
	u := &upload{s: s, name: name, mark: newMark(), parts: make([]completedPart, len(parts))}
	if err := u.begin(ctx, like); err != nil {
		return nil, refused(err)
	}
	err := each(ctx, len(parts), s.options.Uploads, func(ctx context.Context, i int) error { return u.send(ctx, i, parts[i]) })
	if f := (*failure)(nil); errors.As(err, &f) && f.code == "NoSuchUpload" {
		err = &explained{s.name(call{"UploadPart", name}), fmt.Errorf("%w: %v", errRevoked, f)}
	}
	if err != nil {
		u.abort(ctx)
		return nil, err
	}
	return u, nil
}

// begin begins the upload.
func (u *upload) begin(ctx context.Context, like *description) error {
	var begun struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadID string   `xml:"UploadId"`
	}
	c := call{"CreateMultipartUpload", u.name}
	header := u.s.newObject(u.mark, like)
	if _, err := u.s.repeat(ctx, request{call: c, method: http.MethodPost, query: values("uploads", ""), header: header}, &begun); err != nil {
		return err
	}
	if u.id = begun.UploadID; u.id == "" {
		return &explained{u.s.name(c), errors.New("the answer has no upload ID")}
	}
	return nil
}

// query returns the parameters of a request about the upload.
func (u *upload) query(more ...string) url.Values {
	return values(append([]string{"uploadId", u.id}, more...)...)
}

// wantsDigest reports whether the service asks for the MD5 of parts: Amazon's buckets
// with object lock do. Directory buckets have no lock and do not know it.
func (v *service) wantsDigest() bool { return v.options.Endpoint == "" && v.signingName() == "s3" }

// send sends part i: the service copies it, or its bytes are read and uploaded.
func (u *upload) send(ctx context.Context, i int, p part) error {
	number := i + 1
	if p.copied {
		// Another upload may have found out that this cannot be. A part that was to be
		// copied is too large for memory, so the upload is planned again.
		if u.s.noCopies.Load() {
			return errNoCopies
		}
		tag, err := u.copy(ctx, number, p.segments[0])
		u.parts[i] = completedPart{tag, number}
		return err
	}
	data, err := p.read(ctx)
	if err != nil {
		return err
	}
	q := request{
		call: call{"UploadPart", u.name}, method: http.MethodPut, query: u.query("partNumber", strconv.Itoa(number)),
		header: http.Header{}, data: data,
	}
	if u.s.wantsDigest() {
		q.header.Set("Content-MD5", data.digest())
	}
	answer, err := u.s.repeat(ctx, q, nil)
	if err == nil {
		u.parts[i] = completedPart{answer.Header.Get("ETag"), number}
	}
	return err
}

// copy lets the service copy a part, and returns the part's ETag.
func (u *upload) copy(ctx context.Context, number int, g segment) (tag string, err error) {
	name, match, err := g.source.copySource(ctx)
	if err != nil {
		return "", err
	}
	var made struct {
		XMLName xml.Name `xml:"CopyPartResult"`
		ETag    string
	}
	q := request{
		call: call{"UploadPartCopy", u.name}, method: http.MethodPut, query: u.query("partNumber", strconv.Itoa(number)),
		header: set(http.Header{}, copyHeader, name, copyMatchHeader, match,
			"X-Amz-Copy-Source-Range", fmt.Sprintf("bytes=%d-%d", g.off, g.off+g.n-1)),
	}
	if _, err = u.s.repeat(ctx, q, &made); err == nil && made.ETag == "" {
		err = &explained{u.s.name(q.call), errors.New("the answer has no ETag")}
	}
	return made.ETag, g.source.copyFailure(err)
}

// Headers of requests that copy.
const (
	copyHeader      = "X-Amz-Copy-Source"
	copyMatchHeader = "X-Amz-Copy-Source-If-Match"
)

// copyFailure returns what the failure of a copy means.
func (x *source) copyFailure(err error) error {
	var f *failure
	switch {
	case !errors.As(err, &f):
	// The source had its version when it was looked at.
	case f.unmet(), f.code == "NoSuchKey", f.code == "NoSuchVersion":
		return x.replaced()
	case f.lacking():
		return errNoCopies
	}
	return err
}

// complete makes the object visible.
func (u *upload) complete(ctx context.Context, cond condition) (store.Version, error) {
	w := &writing{s: u.s, call: call{"CompleteMultipartUpload", u.name}, cond: cond, mark: u.mark, completes: true}
	q := request{
		call: w.call, method: http.MethodPost, query: u.query(), header: cond.header(http.Header{}),
		data: encode(struct {
			XMLName xml.Name        `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUpload"`
			Parts   []completedPart `xml:"Part"`
		}{Parts: u.parts}),
	}
	v, err := w.run(ctx, func(ctx context.Context) (store.Version, error) {
		var made struct {
			XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
			ETag    string
		}
		answer, err := u.s.send(ctx, q, &made)
		if err != nil {
			return store.Version{}, err
		}
		id := answer.Header.Get(versionHeader)
		u.s.versioned.written(id)
		return makeVersion(made.ETag, id), nil
	})
	if err != nil || u.s.options.Endpoint == "" {
		return v, err
	}
	// Some services answer that they have completed an upload that was aborted
	// (versitygw, if there is an object). Then the object is not ours. A caller that may
	// not look has to believe the answer.
	looked := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		looked, cancel = context.WithTimeout(context.WithoutCancel(ctx), looking)
		defer cancel()
	}
	out, err := u.s.head(looked, u.name)
	switch {
	case err == nil && out.mark == u.mark:
	case err == nil && cond.match != "" && join(out.tag, "") == cond.match:
		return store.Version{}, &explained{u.s.name(w.call), fmt.Errorf("the service has answered that it is complete; %w", errRevoked)}
	case err == nil, errors.Is(err, fs.ErrNotExist): // perhaps ours was there before
		return store.Version{}, &explained{u.s.name(w.call), fmt.Errorf("the service has answered that it is complete; %w", errOvertaken)}
	case driver.IsTemporary(err) || ctx.Err() != nil:
		return store.Version{}, &explained{u.s.name(w.call), fmt.Errorf("the service has answered that it is complete; %w: %w", errUnseen, err)}
	}
	return v, nil
}

// aborting is the longest time to abort an upload after its context has ended.
const aborting = 30 * time.Second

// abort removes the parts. It does its best: what stays is swept later.
func (u *upload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aborting)
	defer cancel()
	_ = u.s.abort(ctx, u.name, u.id) // the caller reports why the upload failed
}

func (s *Store) abort(ctx context.Context, name, id string) error {
	q := request{call: call{"AbortMultipartUpload", name}, method: http.MethodDelete, query: values("uploadId", id)}
	_, err := s.repeat(ctx, q, nil)
	return err
}

// each calls f with the numbers below n, for several at a time. The first error cancels
// the rest.
func each(ctx context.Context, n, atOnce int, f func(ctx context.Context, i int) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := range next {
				if err := f(inner, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if inner.Err() != nil {
			break
		}
		select {
		case next <- i:
		case <-inner.Done():
		}
	}
	close(next)
	wg.Wait()
	if inner.Err() != nil {
		return context.Cause(inner)
	}
	return nil
}
