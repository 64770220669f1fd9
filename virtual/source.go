// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
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
	// as in "s3:…". A field that is not known is zero and is not compared: a file of the
	// time 0 is known by its size only.
	Size     int64
	Modified int64
	Version  string
}

// check returns [zarr.ErrSourceChanged] if info describes another version of the source.
// scheme is that of the store that it comes from, "file" only if it has the times of
// files: an archive has rounded ones.
func (s *Source) check(info store.Info, scheme string) error {
	version, known := strings.CutPrefix(s.Version, scheme+":")
	switch {
	case s.Size > 0 && info.Size != s.Size:
		return fmt.Errorf("%w: it had %s and has %d", errSourceChanged, quantity.Count(s.Size, "bytes"), info.Size)
	case known && !info.Version.IsZero() && info.Version.String() != version:
		return fmt.Errorf("%w: it has another version", errSourceChanged)
	case scheme == "file" && s.Modified != 0 && !info.FileTime.IsZero() && info.FileTime.UnixNano() != s.Modified:
		return fmt.Errorf("%w: it was modified", errSourceChanged)
	}
	return nil
}

// describe returns a source for the version of a file that info describes. scheme is that
// of the store, such as "s3", or "file" for a directory of this machine. A local file
// keeps its time when it is moved or copied with it, but not its version. A version of an
// object is better than its time, which services round, but means nothing to another
// driver.
func describe(location string, info store.Info, scheme string) Source {
	s := Source{Location: location, Size: info.Size}
	switch {
	case scheme == "file" && !info.FileTime.IsZero():
		s.Modified = info.FileTime.UnixNano()
	case scheme != "file" && !info.Version.IsZero():
		s.Version = scheme + ":" + info.Version.String()
	}
	return s
}

// errSourceChanged means that a source is not the file that was scanned: its size, its
// version or its time of modification differ. Its references may be wrong.
var errSourceChanged = sentinel.New("the source has changed since it was scanned", zarr.ErrSourceChanged)

// SourceError is an error of reading a source.
type SourceError struct {
	// Location is that of the source: a URL without secrets, or an absolute path. The
	// manifest may have it in another form, such as a path relative to its own folder.
	Location string
	Err      error
}

// Error returns the location and the reason.
func (e *SourceError) Error() string { return e.Location + ": " + e.Err.Error() }

// Unwrap returns the reason. Packages that cannot import this one, such as check, tell by
// a [fault.Source] which chunks fail for the same reason.
func (e *SourceError) Unwrap() error { return &fault.Source{Location: e.Location, Err: e.Err} }

// locations are those of sources. The chunks of a Zarr node are sources below it.
type locations map[string]bool

func (l locations) contains(location string) bool { return l[location] }

// add adds a location, and the folders that it is in.
func (l locations) add(location string) {
	for !l[location] {
		l[location] = true
		i := strings.LastIndexByte(location, '/')
		if i <= 0 || strings.HasSuffix(location[:i], "..") || strings.HasSuffix(location[:i], "/") {
			return
		}
		location = location[:i]
	}
}

// ErrNotAllowed means that a reference leads to a place that the reader has not allowed.
// Name the place ([WithAllowed], --allow) if you trust the author of the references.
var ErrNotAllowed = errors.New("the reference leads to a place that is not allowed")

// options gives the place the options of the place that the reader has allowed.
func (p *place) options(allowed place) error {
	// A signed URL keeps its query. Other schemes have options there, such as an
	// endpoint.
	if p.scheme == "http" || p.scheme == "https" {
		return nil
	}
	// They would begin options when the location is opened.
	if p.scheme != "file" && strings.ContainsAny(p.path, "?#") {
		return fmt.Errorf("%w: a key with ? or #", ErrNotAllowed)
	}
	p.query = allowed.query
	return nil
}

// place is a location in a form in which equal places are equal: the parts of a URL,
// decoded. A local path has the scheme "file".
type place struct {
	scheme, host string // lower case, without the usual port
	path         string // clean, begins with a slash
	query        string // options or a signature; not compared
}

// join returns the place of a location that is absolute or relative to a folder.
func (p place) join(location string) (place, error) {
	if strings.Contains(location, "://") {
		return placeOf(location)
	}
	// A backslash separates folders on Windows only, and a zero byte ends names in C.
	if strings.ContainsAny(location, "\\\x00") {
		return place{}, fmt.Errorf("%w: a path with characters that programs read in different ways", ErrNotAllowed)
	}
	if !strings.HasPrefix(location, "/") {
		location = p.path + "/" + location
	} else if p.scheme != "file" {
		return place{}, fmt.Errorf("%w: a local path, and the references are not local", ErrNotAllowed)
	}
	p.path = path.Clean("/" + location)
	return p, nil
}

// within reports whether p is in the folder f or below, and returns the path from there.
func (p place) within(f place) (rel string, ok bool) {
	if p.scheme != f.scheme || p.host != f.host {
		return "", false
	}
	// The root ends in a slash already.
	if f.path == "/" {
		return p.path[1:], true
	}
	return strings.CutPrefix(p.path, f.path+"/")
}

// String returns the location of the place.
func (p place) String() string {
	if p.scheme == "file" {
		if len(p.path) > 2 && p.path[2] == ':' && filepath.Separator == '\\' { // /C:/data
			return filepath.FromSlash(p.path[1:])
		}
		return filepath.FromSlash(p.path)
	}
	u := url.URL{Scheme: p.scheme, Host: p.host, Path: p.path, RawQuery: p.query}
	if p.scheme != "http" && p.scheme != "https" { // their paths are not percent-encoded
		return p.scheme + "://" + p.host + p.path + strings.TrimSuffix("?"+p.query, "?")
	}
	return u.String()
}

// split returns the folder and the name of a place.
func (p place) split() (folder place, name string) {
	dir, name := path.Split(p.path)
	p.path = path.Clean(dir)
	return p, name
}

// relative returns the location of p relative to a folder, or its own location if both
// are on different hosts.
func (p place) relative(folder place) string {
	if p.scheme != folder.scheme || p.host != folder.host {
		return p.String()
	}
	up, base := "", folder.path
	for base != "/" && !strings.HasPrefix(p.path, base+"/") {
		base, up = path.Dir(base), up+"../"
	}
	return up + strings.TrimPrefix(strings.TrimPrefix(p.path, base), "/")
}

// ports are the usual ports of schemes.
var ports = map[string]string{"http": "80", "https": "443"}

// placeOf returns the place of a URL or of an absolute or relative local path.
func placeOf(location string) (place, error) {
	if !strings.Contains(location, "://") {
		abs, err := filepath.Abs(filepath.FromSlash(location))
		return place{scheme: "file", path: path.Clean("/" + strings.TrimPrefix(filepath.ToSlash(abs), "/"))}, err
	}
	scheme, rest, _ := strings.Cut(location, "://")
	scheme = strings.ToLower(scheme)
	// Programs use both names for Google Cloud Storage.
	if scheme == "gcs" {
		scheme = "gs"
	}
	if scheme == "http" || scheme == "https" || scheme == "file" {
		return placeOfURL(location)
	}
	// The paths of object stores are not percent-encoded.
	rest, query, _ := strings.Cut(rest, "?")
	host, dir, _ := strings.Cut(rest, "/")
	if host == "" || strings.ContainsAny(rest, "\\\x00") || strings.Contains(host, "@") {
		return place{}, fmt.Errorf("%w: a location that programs read in different ways", ErrNotAllowed)
	}
	return place{scheme, strings.ToLower(host), path.Clean("/" + dir), query}, nil
}

// placeOfURL returns the place of a URL of a file or a web server.
func placeOfURL(location string) (place, error) {
	u, err := url.Parse(location)
	switch {
	case err != nil:
		return place{}, fmt.Errorf("%w: a location that is not a URL", ErrNotAllowed)
	case u.User != nil:
		return place{}, fmt.Errorf("%w: a URL with a user", ErrNotAllowed)
	case u.Opaque != "" || u.Fragment != "" || strings.ContainsAny(u.Path, "\\\x00"):
		return place{}, fmt.Errorf("%w: a URL with characters that programs read in different ways", ErrNotAllowed)
	}
	p := place{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), query: u.RawQuery}
	// A name with a dot at its end is the same host.
	p.host = strings.TrimSuffix(p.host, ".")
	if strings.Contains(p.host, ":") { // an address of IPv6
		p.host = "[" + p.host + "]"
	}
	if port := u.Port(); port != "" && port != ports[p.scheme] {
		p.host += ":" + port
	}
	if p.scheme == "file" && p.host == "localhost" {
		p.host = ""
	}
	if p.host == "" && p.scheme != "file" {
		return place{}, fmt.Errorf("%w: a URL without a host", ErrNotAllowed)
	}
	p.path = path.Clean("/" + u.Path)
	return p, nil
}

// nameOf returns a file as the caller has named it, without secrets.
func nameOf(file string) string {
	if strings.Contains(file, "://") {
		return driver.Redact(file)
	}
	return file
}
