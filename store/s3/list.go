// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"encoding/xml"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

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
	var one page
	query := values("list-type", "2", "prefix", prefix, "max-keys", "10")
	if _, err := s.repeat(ctx, request{call: call{listObjects, prefix}, method: http.MethodGet, onBucket: true, query: query}, &one); err != nil {
		return err
	}
	for _, object := range one.Contents {
		key, err := store.ParseKey(strings.TrimPrefix(object.Key, s.prefix))
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

// Operations that list objects.
const (
	listObjects  = "ListObjectsV2"
	listVersions = "ListObjectVersions"
)

// page is an answer of [listObjects].
type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Contents              []listed
	CommonPrefixes        []commonPrefix
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
}

// versionsPage is an answer of [listVersions].
type versionsPage struct {
	XMLName             xml.Name `xml:"ListVersionsResult"`
	Versions            []listed `xml:"Version"`
	CommonPrefixes      []commonPrefix
	EncodingType        string
	IsTruncated         bool
	NextKeyMarker       string
	NextVersionIDMarker string `xml:"NextVersionIdMarker"`
}

// listed is an object in a listing.
type listed struct {
	Key, ETag    string
	Size         int64
	LastModified string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
}

type commonPrefix struct{ Prefix string }

// get requests one page of a listing.
func (l *lister) get(ctx context.Context, operation string, to any, query ...string) error {
	q := request{
		call: call{operation, l.prefix}, method: http.MethodGet, onBucket: true,
		query: values(append(query, "prefix", l.prefix, "delimiter", l.delimiter, "encoding-type", urlEncoding)...),
	}
	answer, err := l.s.repeat(ctx, q, to)
	if err == nil {
		l.local = l.s.reader.Local(answer.Header)
	}
	return err
}

// objects lists the objects.
func (l *lister) objects(ctx context.Context) error {
	for token := ""; ; {
		var p page
		if err := l.get(ctx, listObjects, &p, "list-type", "2", "continuation-token", token); err != nil {
			return err
		}
		decode := l.decoder(p.EncodingType)
		l.dirs(p.CommonPrefixes, decode)
		for _, object := range p.Contents {
			e := store.Entry{Name: decode(object.Key), Size: object.Size}
			if l.s.versioned.get() == versioningOff {
				e.Version = makeVersion(object.ETag, "")
			}
			l.object(e, object.LastModified)
		}
		if l.stopped || !p.IsTruncated {
			return nil
		}
		if p.NextContinuationToken == "" || p.NextContinuationToken == token {
			return l.samePage()
		}
		token = p.NextContinuationToken
	}
}

// versions lists the latest versions of objects.
func (l *lister) versions(ctx context.Context) error {
	for lastKey, lastID := "", ""; ; {
		var p versionsPage
		if err := l.get(ctx, listVersions, &p, "versions", "", "key-marker", lastKey, "version-id-marker", lastID); err != nil {
			return err
		}
		decode := l.decoder(p.EncodingType)
		l.dirs(p.CommonPrefixes, decode)
		for _, object := range p.Versions {
			if object.IsLatest {
				e := store.Entry{Name: decode(object.Key), Size: object.Size, Version: makeVersion(object.ETag, object.VersionID)}
				l.object(e, object.LastModified)
			}
		}
		if l.stopped || !p.IsTruncated {
			return nil
		}
		key, id := decode(p.NextKeyMarker), p.NextVersionIDMarker
		if key == "" || key == lastKey && id == lastID {
			return l.samePage()
		}
		lastKey, lastID = key, id
	}
}

// urlEncoding is the encoding of names in listings.
const urlEncoding = "url"

// decoder returns the function that decodes the names of an answer.
func (l *lister) decoder(how string) func(string) string {
	if l.encoded = how == urlEncoding; !l.encoded {
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

// dirs yields directories. In buckets with versioning, one may have deleted objects only.
func (l *lister) dirs(prefixes []commonPrefix, decode func(string) string) {
	for _, p := range prefixes {
		name, isDir := strings.CutSuffix(decode(p.Prefix), "/")
		if isDir {
			l.entry(store.Entry{Name: name, Dir: true, Size: -1})
		}
	}
}

// object yields an object, whose name is that in the bucket.
func (l *lister) object(e store.Entry, modified string) {
	if at := timeOf(modified); !at.IsZero() {
		e.Modified = l.local(at)
	}
	l.entry(e)
}

// timeOf returns a time of a listing, or the zero time if it is not known.
func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
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

var (
	_ store.Lister = (*Store)(nil)
)
