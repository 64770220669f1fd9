// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// containerScheme begins locations that are relative to a container of the repository.
const containerScheme = "vcc://"

// containers returns the prefixes of the containers of virtual chunks that have names. A
// container permits nothing: the reader does, by [virtual.WithAllowed].
func containers(config []byte) (map[string]string, error) {
	if config == nil {
		return nil, nil
	}
	v, err := format.ParseFlex(config)
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	found := map[string]string{}
	top, _ := v.(map[string]any)
	list, _ := top["virtual_chunk_containers"].(map[string]any)
	for _, one := range list {
		c, _ := one.(map[string]any)
		name, named := c["name"].(string)
		prefix, ok := c["url_prefix"].(string)
		if named && ok {
			found[name] = prefix
		}
	}
	return found, nil
}

// virtualLocation returns the location that a reference means, as package virtual names
// it: the path of an object store is not percent-encoded there.
func (r *Repository) virtualLocation(location string) (string, error) {
	if rest, relative := strings.CutPrefix(location, containerScheme); relative {
		if r.containersErr != nil {
			return "", r.containersErr
		}
		name, rest, _ := strings.Cut(rest, "/")
		prefix, ok := r.containers[name]
		if !ok {
			return "", fmt.Errorf("%w: the location %s names a container that the repository does not have", format.ErrDamaged, location)
		}
		location = strings.TrimSuffix(prefix, "/") + "/" + rest
	}
	scheme, rest, _ := strings.Cut(location, "://")
	switch strings.ToLower(scheme) {
	case "file", "http", "https":
		return location, nil
	}
	// The reference decodes the path up to a query or a fragment, once, and takes it as
	// it is: a//b and a/../b are keys of an object store.
	host, key, _ := strings.Cut(rest, "/")
	if i := strings.IndexAny(key, "?#"); i >= 0 {
		key = key[:i]
	}
	key = decoded(key)
	if path.Clean("/"+key) != "/"+key || strings.ContainsAny(key, "?#") {
		return "", fmt.Errorf("%w: the chunk is in an object with the key %q, which locations here do not express", zarr.ErrUnsupported, key)
	}
	return scheme + "://" + host + "/" + key, nil
}

// decoded decodes the escapes of a text. As in the reference, % stays where none follows.
func decoded(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if i+3 <= len(text) && text[i] == '%' {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// errNoPlaces is the error for a virtual chunk of a repository that was opened without
// its location.
var errNoPlaces = fmt.Errorf("%w: the chunk is in a file beside the repository; open the repository with its location", zarr.ErrUnsupported)

// virtualChunk reads the bytes of a chunk in an object beside the repository, of which a
// request wants n from off on.
func (r *Repository) virtualChunk(ctx context.Context, ref format.ChunkRef, off, n int64, dst []byte) ([]byte, error) {
	if r.placesErr != nil {
		return nil, r.placesErr
	}
	if r.places == nil {
		return nil, errNoPlaces
	}
	location, err := r.virtualLocation(string(ref.Location))
	if err != nil {
		return nil, err
	}
	s, key, err := r.places.Object(location)
	if err != nil {
		return nil, err
	}
	fail := func(err error) error {
		if errors.Is(err, zarr.ErrSourceChanged) {
			err = fmt.Errorf("%w; scan it again", err)
		}
		return &virtual.SourceError{Location: driver.Redact(location), Err: err}
	}
	out, info, err := s.Get(ctx, key, store.Request{Range: store.Span(int64(ref.Offset)+off, n), Limit: n}, dst)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A missing object would be read as the fill value.
		return nil, fail(fmt.Errorf("%w: it does not exist", zarr.ErrSourceChanged))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fail(fmt.Errorf("%w: it ends within the chunk: %w", zarr.ErrSourceChanged, err))
	case err != nil:
		return nil, fail(err)
	case changed(ref, info):
		return nil, fail(fmt.Errorf("%w: it is not the version that the reference names", zarr.ErrSourceChanged))
	}
	return out, nil
}

// changed reports whether an object is another one than a reference names, by the rule of
// the reference: its ETag, else that it is not younger than the whole second that the
// reference names. Writers round up to that second, so any later time is a change. An
// older object may be the same one, because some writers store when they scanned it.
func changed(ref format.ChunkRef, info store.Info) bool {
	modified := info.Modified
	if !info.FileTime.IsZero() {
		modified = info.FileTime
	}
	if len(ref.ETag) > 0 {
		named := strings.Trim(string(ref.ETag), `"`)
		if etag, ok := etagOf(info.Version); ok {
			return named != etag
		}
		return !isFile(named, info)
	}
	return ref.Modified > 0 && !modified.IsZero() && modified.After(time.Unix(int64(ref.Modified), 0))
}

// isFile reports whether an ETag is one that the reference makes of a local file: inode,
// microseconds since 1970 and size, in hexadecimal. The inode is not compared, because a
// file that was moved with its time is the same.
func isFile(etag string, info store.Info) bool {
	_, rest, _ := strings.Cut(etag, "-")
	return !info.FileTime.IsZero() && rest == fmt.Sprintf("%x-%x", info.FileTime.UnixMicro(), info.Size)
}

// etagOf returns the ETag that a version has. That of a bucket with versions has an ID
// after it. Some stores have no ETags: then ok is false.
func etagOf(v store.Version) (etag string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(v.String(), "W/"), `"`)
	if !ok {
		return "", false
	}
	etag, _, ok = strings.Cut(rest, `"`)
	return etag, ok
}
