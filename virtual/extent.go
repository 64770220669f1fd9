// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// Extent is where the bytes of a value lie: a part of a file.
type Extent struct {
	// Location is a URL. Its path is percent-encoded, also that of an object store.
	Location       string
	Offset, Length int64
	// Version and Modified identify the file that was scanned. What is not known is zero.
	Version  store.Version
	Modified time.Time
}

// Locate returns where the value at a key lies, in a store that shows references. If the
// value lies in no file, or in one that belongs to the manifest, the error wraps
// [store.ErrUnsupported]: such bytes have to be copied.
func Locate(ctx context.Context, s store.Store, key store.Key) (Extent, error) {
	v := referencesOf(s)
	if v == nil {
		return Extent{}, fmt.Errorf("%w: the store shows no references", store.ErrUnsupported)
	}
	f, err := v.found(ctx, key)
	if err != nil {
		return Extent{}, err
	}
	from, ok := v.sources.(*sites)
	_, isManifest := v.content.(*nodes)
	// Copies of chunks are in the folder of the manifest, which deletes what it replaces.
	if f.bytes != nil || !ok || isManifest && strings.HasPrefix(f.source.Location, "data/") {
		return Extent{}, fmt.Errorf("%w: the bytes are in the manifest", store.ErrUnsupported)
	}
	at, err := from.folder.join(f.source.Location)
	if err != nil {
		return Extent{}, v.explain(f.source, err)
	}
	// Of an object store it has options, which are those of the reader in any case.
	if at.query != "" && (at.scheme == "http" || at.scheme == "https") {
		return Extent{}, v.explain(f.source, fmt.Errorf("%w: a reference in a repository has no query, which may be a signature that expires", zarr.ErrUnsupported))
	}
	e := Extent{Location: at.encoded(), Offset: int64(f.ref.offset), Length: int64(f.ref.length)}
	// A stored version has the scheme of its store before it.
	if _, version, ok := strings.Cut(f.source.Version, ":"); ok {
		e.Version = store.MakeVersion(version)
	}
	if f.source.Modified != 0 {
		e.Modified = time.Unix(0, f.source.Modified)
	}
	return e, nil
}

// encoded returns the URL of the place with a percent-encoded path, whatever its scheme.
func (p place) encoded() string {
	switch p.scheme {
	case "file", "http", "https":
		return (&url.URL{Scheme: p.scheme, Host: p.host, Path: p.path}).String()
	}
	// Keys of object stores may have any of these, and they would end a URL's path.
	return p.scheme + "://" + p.host + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(p.path)
}
