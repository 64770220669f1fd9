// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // see digest
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// upload is an upload in parts. No reader sees it before it is complete. If the program
// crashes, it stays until [Store.Sweep] or a rule of the bucket removes it.
type upload struct {
	s     *Store
	name  string
	id    *string
	mark  string // of the object
	parts []types.CompletedPart
}

// errNoCopies means that the service cannot copy ranges into an upload.
var errNoCopies = errors.New("the service does not copy ranges")

// upload writes an object in parts, and makes it visible if the condition holds. It keeps
// the storage class and encryption of like, unless that is nil or the options say
// otherwise.
func (s *Store) upload(
	ctx context.Context, name string, from segments, cond condition, like *s3.HeadObjectOutput,
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
	ctx context.Context, name string, from segments, c cuts, cond condition, like *s3.HeadObjectOutput,
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
	ctx context.Context, name string, parts []part, cond condition, like *s3.HeadObjectOutput,
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
	ctx context.Context, name string, parts []part, cond condition, like *s3.HeadObjectOutput,
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
func (s *Store) newUpload(ctx context.Context, name string, parts []part, like *s3.HeadObjectOutput) (*upload, error) {
	u := &upload{s: s, name: name, mark: newMark(), parts: make([]types.CompletedPart, len(parts))}
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
func (u *upload) begin(ctx context.Context, like *s3.HeadObjectOutput) error {
	s := u.s
	class, encryption, key := s.keeps(like)
	return s.do(ctx, call{"CreateMultipartUpload", u.name}, func(ctx context.Context, o option) error {
		out, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
			Bucket: &s.bucket, Key: &u.name, Metadata: map[string]string{markName: u.mark}, RequestPayer: s.payer(),
			StorageClass: types.StorageClass(class), ServerSideEncryption: encryption, SSEKMSKeyId: key,
		}, o, unchecked)
		if err == nil {
			u.id = out.UploadId
		}
		return err
	})
}

// keeps returns the storage class and the encryption of a new object that has bytes of
// another one.
func (s *Store) keeps(like *s3.HeadObjectOutput) (class string, how types.ServerSideEncryption, key *string) {
	class, how, key = s.options.StorageClass, types.ServerSideEncryption(s.options.Encryption), text(s.options.KMSKey)
	if like == nil {
		return class, how, key
	}
	if class == "" {
		class = string(like.StorageClass)
	}
	if how == "" {
		how = like.ServerSideEncryption
		if how != types.ServerSideEncryptionAes256 && how != "" {
			key = like.SSEKMSKeyId
		}
	}
	return class, how, key
}

// unchecked leaves out the checksums that the SDK adds to an upload. With them, the
// completion would need those of every part, and copied parts may have none. The
// signature covers the bytes of a part.
func unchecked(o *s3.Options) {
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
}

// digest returns the MD5 of a part, or nil where it is not needed. Amazon's buckets with
// object lock ask for one; directory buckets have no lock and do not know it.
func (v *service) digest(data pieces) *string {
	if v.options.Endpoint != "" || v.signingName() != "s3" {
		return nil
	}
	h := md5.New() //nolint:gosec // the service asks for it
	for _, b := range data {
		_, _ = h.Write(b) // it never fails
	}
	return pointer(base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

// send sends part i: the service copies it, or its bytes are read and uploaded.
func (u *upload) send(ctx context.Context, i int, p part) error {
	number := pointer(int32(i + 1))
	if p.copied {
		// Another upload may have found out that this cannot be. A part that was to be
		// copied is too large for memory, so the upload is planned again.
		if u.s.noCopies.Load() {
			return errNoCopies
		}
		tag, err := u.copy(ctx, number, p.segments[0])
		u.parts[i] = types.CompletedPart{ETag: tag, PartNumber: number}
		return err
	}
	data, err := p.read(ctx)
	if err != nil {
		return err
	}
	return u.s.do(ctx, call{"UploadPart", u.name}, func(ctx context.Context, o option) error {
		out, err := u.s.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &u.s.bucket, Key: &u.name, UploadId: u.id, PartNumber: number, Body: data.body(), ContentLength: pointer(data.size()),
			RequestPayer: u.s.payer(), ContentMD5: u.s.digest(data),
		}, o, unchecked)
		if err == nil {
			u.parts[i] = types.CompletedPart{ETag: out.ETag, PartNumber: number}
		}
		return err
	})
}

// copy lets the service copy a part, and returns the part's ETag.
func (u *upload) copy(ctx context.Context, number *int32, g segment) (tag *string, err error) {
	name, match, err := g.source.copySource(ctx)
	if err != nil {
		return nil, err
	}
	c := call{"UploadPartCopy", u.name}
	err = u.s.do(ctx, c, func(ctx context.Context, o option) error {
		out, err := u.s.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
			Bucket: &u.s.bucket, Key: &u.name, UploadId: u.id, PartNumber: number, CopySource: &name, CopySourceIfMatch: &match,
			CopySourceRange: pointer(fmt.Sprintf("bytes=%d-%d", g.off, g.off+g.n-1)), RequestPayer: u.s.payer(),
		}, o)
		if err != nil {
			return err
		}
		if out.CopyPartResult == nil || value(out.CopyPartResult.ETag) == "" {
			return fmt.Errorf("%s: the answer has no ETag", u.s.name(c))
		}
		tag = out.CopyPartResult.ETag
		return nil
	})
	return tag, g.source.copyFailure(err)
}

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
	v, err := w.run(ctx, func(ctx context.Context, o option) (store.Version, error) {
		out, err := u.s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &u.s.bucket, Key: &u.name, UploadId: u.id, IfMatch: cond.match, IfNoneMatch: cond.none, RequestPayer: u.s.payer(),
			MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
		}, o)
		if err != nil {
			return store.Version{}, err
		}
		u.s.versioned.written(out.VersionId)
		return makeVersion(out.ETag, out.VersionId), nil
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
	case err == nil && out.Metadata[markName] == u.mark:
	case err == nil && cond.match != nil && join(value(out.ETag), "") == *cond.match:
		return store.Version{}, &explained{u.s.name(w.call), fmt.Errorf("the service has answered that it is complete; %w", errRevoked)}
	case err == nil, errors.Is(err, fs.ErrNotExist): // perhaps ours was there before
		return store.Version{}, &explained{u.s.name(w.call), fmt.Errorf("the service has answered that it is complete; %w", errOvertaken)}
	case retry.IsTemporary(err) || ctx.Err() != nil:
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

func (s *Store) abort(ctx context.Context, name string, id *string) error {
	return s.do(ctx, call{"AbortMultipartUpload", name}, func(ctx context.Context, o option) error {
		_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &s.bucket, Key: &name, UploadId: id, RequestPayer: s.payer(),
		}, o)
		return err
	})
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
