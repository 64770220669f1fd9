// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"varve.dev/zarr/store"
)

// source is an object from which bytes are taken, all from one version.
type source struct {
	s    *Store
	key  store.Key
	want store.Version // zero for any
	p    *store.Pinned // for reading

	mu   sync.Mutex
	head *s3.HeadObjectOutput // nil until needed
}

func (s *Store) source(key store.Key, want store.Version) *source {
	return &source{s: s, key: key, want: want, p: store.Pin(s, key, store.Info{})}
}

// look returns the description of the version, which it requests once.
func (x *source) look(ctx context.Context) (*s3.HeadObjectOutput, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head != nil {
		return x.head, nil
	}
	name, err := x.s.key(x.key)
	if err != nil {
		return nil, err
	}
	head, err := x.s.head(ctx, name)
	switch {
	case err != nil && !x.want.IsZero() && errors.Is(err, fs.ErrNotExist):
		return nil, x.replaced()
	case err != nil:
		return nil, err
	case !x.want.IsZero() && makeVersion(head.ETag, head.VersionId) != x.want:
		return nil, x.replaced()
	}
	x.head, x.want = head, makeVersion(head.ETag, head.VersionId)
	return head, nil
}

// replaced is the error of a source that is not of the version that is wanted.
func (x *source) replaced() error {
	return fmt.Errorf("%s: %w: the object was replaced or deleted", x.s.name(call{key: x.s.prefix + x.key.String()}), store.ErrConflict)
}

// read appends n bytes from offset off on to dst.
func (x *source) read(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
	out, info, err := x.p.Read(ctx, store.Request{Range: store.Span(off, n)}, dst)
	x.mu.Lock()
	want := x.want
	if err == nil && want.IsZero() {
		x.want, want = info.Version, info.Version
	}
	x.mu.Unlock()
	switch {
	case err == nil && info.Version == want:
		return out, nil
	case err == nil:
		return nil, x.replaced()
	case want.IsZero():
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, x.replaced()
	// Another version may be shorter.
	case errors.Is(err, io.ErrUnexpectedEOF):
		if _, now := x.look(ctx); errors.Is(now, store.ErrConflict) {
			return nil, now
		}
	}
	return nil, err
}

// copySource returns the text that names the version in requests that copy it, and its
// ETag.
func (x *source) copySource(ctx context.Context) (name, tag string, err error) {
	if _, err := x.look(ctx); err != nil {
		return "", "", err
	}
	tag, id := cut(x.want)
	name = x.s.copied(x.s.prefix + x.key.String())
	if id != "" {
		name += "?versionId=" + url.QueryEscape(id)
	}
	return name, tag, nil
}

// copied returns the text that names an object in requests that copy it.
func (v *service) copied(name string) string {
	// A bucket may be an ARN, which has slashes of its own.
	return escape(strings.ReplaceAll(url.PathEscape(v.bucket+"/"+name), "%2F", "/"))
}
