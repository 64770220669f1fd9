// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/store"
)

// Source is a file that chunks are references into.
type Source struct {
	// Location is a URL, or a path with slashes, relative to the folder that the
	// manifest is in.
	Location string
	// Size, Modified and Version identify what was scanned. Modified is in nanoseconds
	// since 1970. Version is an ETag or the like, with the scheme of its store before it,
	// as in "s3:…". Each is zero if it is not known, and is not compared then: a file of
	// the time 0 is known by its size only.
	Size     int64
	Modified int64
	Version  string
}

// ErrSourceChanged means that a source is not the file that was scanned: its size, its
// version or its time of modification differ. Its references may be wrong. Scan it again.
// It is a [zarr.ErrSourceChanged]. A local file that was changed without a change of its
// size and its time is not noticed, nor is one of the same size where no time or version
// is known: the bytes themselves are not compared.
var ErrSourceChanged = sentinel.New("the source has changed since it was scanned", zarr.ErrSourceChanged)

// Describe returns a source for the version of a file that info describes. scheme is that
// of the store, such as "s3", or "file" for a directory of this machine. A local file
// keeps its time when it is moved or copied with it, but not its version. A version of an
// object is better than its time, which services round, but means nothing to another
// driver.
func Describe(location string, info store.Info, scheme string) Source {
	s := Source{Location: location, Size: info.Size}
	switch {
	case scheme == "file" && !info.FileTime.IsZero():
		s.Modified = info.FileTime.UnixNano()
	case scheme != "file" && !info.Version.IsZero():
		s.Version = scheme + ":" + info.Version.String()
	}
	return s
}

// version returns the version of bytes of the source. Whoever reads them has made sure
// that the source is the one that was scanned.
func (s *Source) version(r reference) store.Version {
	b := make([]byte, 0, len(s.Location)+len(s.Version)+4*21+5)
	b = append(append(b, s.Location...), ' ')
	b = append(strconv.AppendInt(b, s.Size, 10), ' ')
	b = append(strconv.AppendInt(b, s.Modified, 10), ' ')
	b = append(append(b, s.Version...), ' ')
	b = append(strconv.AppendUint(b, r.offset, 10), ' ')
	return store.MakeVersion(string(strconv.AppendUint(b, r.length, 10)))
}

// check returns [ErrSourceChanged] if info describes another version of the source.
// scheme is that of the store that it comes from, "file" only if it has the times of
// files: an archive has rounded ones.
func (s *Source) check(info store.Info, scheme string) error {
	version, known := strings.CutPrefix(s.Version, scheme+":")
	switch {
	case s.Size > 0 && info.Size != s.Size:
		return fmt.Errorf("%w: it had %d bytes and has %d", ErrSourceChanged, s.Size, info.Size)
	case known && !info.Version.IsZero() && info.Version.String() != version:
		return fmt.Errorf("%w: it has another version", ErrSourceChanged)
	case scheme == "file" && s.Modified != 0 && !info.FileTime.IsZero() && info.FileTime.UnixNano() != s.Modified:
		return fmt.Errorf("%w: it was modified", ErrSourceChanged)
	}
	return nil
}

// SourceError is an error of reading a source.
type SourceError struct {
	// Location is that of the source: a URL without secrets, or an absolute path. The
	// manifest may have it in another form, such as a path relative to its own folder.
	Location string
	Err      error
}

// Error returns the location and the reason.
func (e *SourceError) Error() string { return e.Location + ": " + e.Err.Error() }

// SourceLocation returns the location. Packages that cannot import this one, such as
// check, tell by it which chunks fail for the same reason.
func (e *SourceError) SourceLocation() string { return e.Location }

// Unwrap returns the reason.
func (e *SourceError) Unwrap() error { return e.Err }
