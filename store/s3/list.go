// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"varve.dev/zarr/store"
)

// List implements [store.Lister]. It takes one request for 1,000 entries. Entries have
// versions in any case if the bucket is known to have no versioning. In a bucket with
// versioning, a listing with versions lists object versions, old ones too, because plain
// listings have no version IDs.
func (s *Store) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		l := s.lister(dir, how&store.Deep != 0, yield)
		if how&store.WithVersions == 0 {
			l.done(ctx, l.objects(ctx))
			return
		}
		if s.versioned.get() == versioningUnknown {
			if err := s.learnVersioning(ctx, l.prefix); err != nil {
				yield(store.Entry{}, err)
				return
			}
		}
		if s.versioned.get() == versioningOn {
			l.done(ctx, l.versions(ctx))
			return
		}
		l.done(ctx, l.objects(ctx))
	}
}

// learnVersioning finds out whether the bucket has versioning, from any object below a
// prefix. If there is none, it does not matter.
func (s *Store) learnVersioning(ctx context.Context, prefix string) error {
	var one *s3.ListObjectsV2Output
	err := s.do(ctx, call{"ListObjectsV2", prefix}, func(ctx context.Context, o option) (err error) {
		in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: text(prefix), MaxKeys: pointer[int32](10), RequestPayer: s.payer()}
		one, err = s.client.ListObjectsV2(ctx, in, o)
		return err
	})
	if err != nil {
		return err
	}
	for _, object := range one.Contents {
		key, err := store.ParseKey(strings.TrimPrefix(value(object.Key), s.prefix))
		if err != nil {
			continue
		}
		// The object may be gone by now. The next one tells as well.
		if _, err = s.Stat(ctx, key); err == nil {
			return nil
		}
	}
	return ctx.Err()
}

// lister yields the entries of pages.
type lister struct {
	s         *Store
	prefix    string // of the names of objects
	delimiter string
	yield     func(store.Entry, error) bool
	encoded   bool                         // the last answer has encoded names
	stopped   bool                         // the caller wants no more
	local     func(at time.Time) time.Time // makes times of the last answer those of this machine
}

func (s *Store) lister(dir store.Path, deep bool, yield func(store.Entry, error) bool) *lister {
	l := &lister{s: s, prefix: s.prefix, yield: yield}
	if !dir.IsRoot() {
		l.prefix += dir.String() + "/"
	}
	if !deep {
		l.delimiter = "/"
	}
	return l
}

// done yields the error that ended a listing.
func (l *lister) done(ctx context.Context, err error) {
	if err == nil && !l.stopped {
		err = ctx.Err()
	}
	if err != nil && !l.stopped {
		l.yield(store.Entry{}, err)
	}
}

// samePage is the error of a listing that is cut off and cannot be continued. The rest is
// not known, so it must not be taken for all.
func (l *lister) samePage() error {
	return fmt.Errorf("%s: the service says that there are more objects, and not how to list them", l.s.name(call{"List", l.prefix}))
}

// objects lists the objects.
func (l *lister) objects(ctx context.Context) error {
	in := s3.ListObjectsV2Input{
		Bucket: &l.s.bucket, Prefix: text(l.prefix), Delimiter: text(l.delimiter), EncodingType: types.EncodingTypeUrl,
		RequestPayer: l.s.payer(),
	}
	for {
		var page *s3.ListObjectsV2Output
		err := l.s.do(ctx, call{"ListObjectsV2", l.prefix}, func(ctx context.Context, o option) (err error) {
			request := in
			page, err = l.s.client.ListObjectsV2(ctx, &request, o)
			return err
		})
		if err != nil {
			return err
		}
		l.clock(page.ResultMetadata)
		decode := l.decoder(page.EncodingType)
		l.dirs(page.CommonPrefixes, decode)
		for _, object := range page.Contents {
			e := store.Entry{Name: decode(value(object.Key)), Size: value(object.Size)}
			if l.s.versioned.get() == versioningOff {
				e.Version = makeVersion(object.ETag, nil)
			}
			l.object(e, object.LastModified)
		}
		if l.stopped || !value(page.IsTruncated) {
			return nil
		}
		next := value(page.NextContinuationToken)
		if next == "" || next == value(in.ContinuationToken) {
			return l.samePage()
		}
		in.ContinuationToken = &next
	}
}

// versions lists the latest versions of objects.
func (l *lister) versions(ctx context.Context) error {
	in := s3.ListObjectVersionsInput{
		Bucket: &l.s.bucket, Prefix: text(l.prefix), Delimiter: text(l.delimiter), EncodingType: types.EncodingTypeUrl,
		RequestPayer: l.s.payer(),
	}
	for {
		var page *s3.ListObjectVersionsOutput
		err := l.s.do(ctx, call{"ListObjectVersions", l.prefix}, func(ctx context.Context, o option) (err error) {
			request := in
			page, err = l.s.client.ListObjectVersions(ctx, &request, o)
			return err
		})
		if err != nil {
			return err
		}
		l.clock(page.ResultMetadata)
		decode := l.decoder(page.EncodingType)
		l.dirs(page.CommonPrefixes, decode)
		for _, object := range page.Versions {
			if value(object.IsLatest) {
				e := store.Entry{Name: decode(value(object.Key)), Size: value(object.Size), Version: makeVersion(object.ETag, object.VersionId)}
				l.object(e, object.LastModified)
			}
		}
		if l.stopped || !value(page.IsTruncated) {
			return nil
		}
		key, id := decode(value(page.NextKeyMarker)), value(page.NextVersionIdMarker)
		if key == "" || key == value(in.KeyMarker) && id == value(in.VersionIdMarker) {
			return l.samePage()
		}
		in.KeyMarker, in.VersionIdMarker = &key, text(id)
	}
}

// decoder returns the function that decodes the names of an answer.
func (l *lister) decoder(how types.EncodingType) func(string) string {
	if l.encoded = how == types.EncodingTypeUrl; !l.encoded {
		return func(name string) string { return name }
	}
	return func(name string) string {
		plain, err := url.QueryUnescape(name)
		if err != nil {
			return name // of a service that does not encode, but says so
		}
		return plain
	}
}

// clock compares the clocks by an answer that has just come.
func (l *lister) clock(m middleware.Metadata) {
	var h http.Header
	if r, ok := awsmiddleware.GetRawResponse(m).(*smithyhttp.Response); ok && r != nil {
		h = r.Header
	}
	l.local = l.s.reader.Local(h)
}

// dirs yields directories. In buckets with versioning, one may have deleted objects only.
func (l *lister) dirs(prefixes []types.CommonPrefix, decode func(string) string) {
	for _, p := range prefixes {
		name, isDir := strings.CutSuffix(decode(value(p.Prefix)), "/")
		if isDir {
			l.entry(store.Entry{Name: name, Dir: true, Size: -1})
		}
	}
}

// object yields an object, whose name is that in the bucket.
func (l *lister) object(e store.Entry, modified *time.Time) {
	if modified != nil {
		e.Modified = l.local(*modified)
	}
	l.entry(e)
}

// entry yields an entry, unless it is an object of this package's own, or an empty one
// with which other programs mark a directory: its name ends in a slash.
func (l *lister) entry(e store.Entry) {
	name, below := strings.CutPrefix(e.Name, l.prefix)
	if l.stopped || !below || strings.HasPrefix(name[strings.LastIndexByte(name, '/')+1:], probePrefix) {
		return
	}
	if !e.Dir && e.Size == 0 && (name == "" || strings.HasSuffix(name, "/")) {
		return
	}
	// XML holds no control characters. A service that does not encode them lists another
	// name in their place.
	if strings.ContainsRune(name, utf8.RuneError) && !l.encoded {
		e.Unusable = "the service does not say what it is called"
	}
	e.Name = name
	l.stopped = !l.yield(e, nil)
}

// payer returns the value that agrees to pay for a request.
func (s *Store) payer() types.RequestPayer {
	if s.options.RequesterPays {
		return types.RequestPayerRequester
	}
	return ""
}

// pointer returns a pointer to a copy of v.
func pointer[T any](v T) *T { return &v }

var (
	_ store.Lister = (*Store)(nil)
)
