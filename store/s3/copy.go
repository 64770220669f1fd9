// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"varve.dev/zarr/store"
)

// copyFrom copies the source of a change.
func (s *Store) copyFrom(ctx context.Context, name string, c store.Change) (made store.Written, err error) {
	other, ok := store.Driver(c.From).(*Store)
	if !ok || !s.alike(other) {
		return made, fmt.Errorf("s3: %w: the service can only copy its own objects", store.ErrUnsupported)
	}
	switch may, err := s.mayCopy(ctx); {
	case err != nil:
		return made, err
	case !may:
		c.From = basic{other}
		return store.Write(ctx, basic{s}, c, store.Sync)
	}
	// A rival may replace the source between the request that looks at it and the copy.
	for range copyTries {
		x := other.source(c.Source, store.Version{})
		if made.Version, err = s.copy(ctx, name, x); err == nil {
			made.Size = value(x.head.ContentLength)
			return made, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	// Another bucket may refuse these credentials, or the service its kind of copy. Then
	// the caller reads and writes.
	if s.bucket != other.bucket && errors.Is(err, fs.ErrPermission) || errors.Is(err, errNoCopies) {
		err = fmt.Errorf("%w: %w", store.ErrUnsupported, err)
	}
	return store.Written{}, err
}

// copyTries is the number of attempts to copy a source that others replace.
const copyTries = 5

// alike reports whether requests of s may name objects of the other store.
func (s *Store) alike(other *Store) bool {
	a, b := &s.options, &other.options
	if s.service == other.service {
		return true
	}
	return a.Endpoint == b.Endpoint && a.Profile == b.Profile && a.Credentials == nil && b.Credentials == nil && !a.Anonymous && !b.Anonymous
}

// copy lets the service copy a source to the object with a name.
func (s *Store) copy(ctx context.Context, name string, x *source) (v store.Version, err error) {
	from, match, err := x.copySource(ctx)
	if err != nil {
		return store.Version{}, err
	}
	if n := value(x.head.ContentLength); n > mostCopy {
		return s.upload(ctx, name, segments{{source: x, n: n}}, condition{}, x.head)
	}
	class, encryption, key := s.keeps(x.head)
	c := call{"CopyObject", name}
	err = s.do(ctx, c, func(ctx context.Context, o option) error {
		out, err := s.client.CopyObject(ctx, &s3.CopyObjectInput{
			Bucket: &s.bucket, Key: &name, CopySource: &from, CopySourceIfMatch: &match, RequestPayer: s.payer(),
			StorageClass: types.StorageClass(class), ServerSideEncryption: encryption, SSEKMSKeyId: key,
		}, o)
		if err != nil {
			return err
		}
		s.versioned.written(out.VersionId)
		if out.CopyObjectResult != nil {
			v = makeVersion(out.CopyObjectResult.ETag, out.VersionId)
		}
		return nil
	})
	return v, x.copyFailure(err)
}

// clone copies an object from one version.
func (s *Store) clone(ctx context.Context, name string, c store.Change) (store.Written, error) {
	key, src, from := c.Key, c.Source, c.SourceVersion
	switch may, err := s.mayCopy(ctx); {
	case err != nil:
		return store.Written{}, err
	case !may && key != src:
		return store.Write(ctx, basic{s}, c, store.Sync)
	}
	var err error
	for range copyTries {
		x := s.source(src, from)
		var v store.Version
		if key == src {
			// The service refuses to copy an object to itself.
			_, err = x.look(ctx)
			v = x.want
		} else {
			v, err = s.copy(ctx, name, x)
		}
		if err == nil {
			made := store.Written{Version: v, Source: x.want, Size: value(x.head.ContentLength)}
			if key != src {
				made.Moved = made.Size
			}
			return made, nil
		}
		if !from.IsZero() || !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return store.Written{}, err
}

// basic is a store without copies by the service, so that package store reads and writes.
type basic struct{ s *Store }

func (b basic) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return b.s.Get(ctx, key, q, dst)
}

func (b basic) Can(op store.Op) bool { return op == store.OpPut }

func (b basic) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	return b.s.Write(ctx, c, d)
}
