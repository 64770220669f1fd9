// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// ErrNotAllowed means that a reference leads to a place that the reader has not allowed.
// Name the place ([WithAllowed], --allow) if you trust whoever made the references.
var ErrNotAllowed = errors.New("the reference leads to a place that is not allowed")

// place is a location in a form in which equal places are equal: the parts of a URL,
// decoded. A local path has the scheme "file".
type place struct {
	scheme, host string // lower case, without the usual port
	path         string // clean, begins with a slash
	query        string // options or a signature; not compared
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

// join returns the place of a location that is absolute or relative to a folder.
func (p place) join(location string) (place, error) {
	if strings.Contains(location, "://") {
		return placeOf(location)
	}
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
