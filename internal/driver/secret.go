// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/own"
)

// concealed is a URL with secrets and its text for display.
type concealed struct {
	shown, real string
	after       *concealed
}

// concealedKey is the context key of [Conceal].
type concealedKey struct{}

// Conceal returns a URL without its secrets (see [Redact]), and a context in which that
// text stands for the whole URL. A location that equals the text, or extends it with a
// slash, is then opened with the user, password and query of the URL. So a program can
// display and extend a URL without its secrets. A location without secrets is returned
// unchanged.
//
// The query of a location in a bucket, such as "s3://bucket/path?endpoint=…", has the
// options of the bucket. It stands for the locations in the bucket that have no query. Of
// several queries, each location has that of the concealed location with which it shares
// the most segments, and among equals that of the last one.
//
// Of a location in a repository, such as "icechunk+https://host/repo@main/a", the
// location of the repository is concealed, with which its store is opened.
func Conceal(ctx context.Context, location string) (context.Context, string) {
	if w, ok := unwrap(location); ok {
		ctx, shown := Conceal(ctx, w.below)
		return ctx, w.around(shown)
	}
	if inBucket(location) {
		shown, query, found := strings.Cut(location, "?")
		if !found {
			return ctx, location
		}
		before, _ := ctx.Value(concealedKey{}).(*concealed)
		return context.WithValue(ctx, concealedKey{}, &concealed{shown, query, before}), shown
	}
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return ctx, location
	}
	before, _ := ctx.Value(concealedKey{}).(*concealed)
	shown := strings.TrimRight(Redact(location), "/")
	return context.WithValue(ctx, concealedKey{}, &concealed{shown, location, before}), shown
}

// Reveal returns the whole URL for a location in ctx; see [Conceal]. If several URLs
// match, it uses the longest.
func Reveal(ctx context.Context, location string) string {
	if w, ok := unwrap(location); ok {
		return w.around(Reveal(ctx, w.below))
	}
	var found *concealed
	c, _ := ctx.Value(concealedKey{}).(*concealed)
	if inBucket(location) {
		return withOptions(c, location)
	}
	for ; c != nil; c = c.after {
		rest, ok := strings.CutPrefix(location, c.shown)
		if ok && (rest == "" || rest[0] == '/') && (found == nil || len(c.shown) > len(found.shown)) {
			found = c
		}
	}
	if found == nil {
		return location
	}
	u, err := url.Parse(found.real)
	rest, restErr := url.Parse(location)
	if err != nil || restErr != nil {
		return location
	}
	// Take the path from the location, and everything else from the whole URL.
	u.Path, u.RawPath = rest.Path, rest.RawPath
	return u.String()
}

// wrapped is a location whose scheme names a format and the scheme of a store, such as
// icechunk+s3.
type wrapped struct {
	format string // with the plus sign
	below  string // the location in the store, with the query
	node   string // in the repository, with the sign @, or ""
}

// unwrap divides a location whose scheme names a format. The path ends at the first @;
// one in the path is written as %40.
func unwrap(location string) (w wrapped, ok bool) {
	scheme, _, found := strings.Cut(location, "://")
	format, _, isWrapped := strings.Cut(scheme, "+")
	if !found || !isWrapped {
		return w, false
	}
	w.format = format + "+"
	text, query, hasQuery := strings.Cut(strings.TrimPrefix(location, w.format), "?")
	start := pathOf(text)
	path := text[start:]
	if i := strings.IndexByte(path, '@'); i >= 0 {
		path, w.node = path[:i], path[i:]
	}
	w.below = text[:start] + strings.ReplaceAll(path, "%40", "@")
	if hasQuery {
		w.below += "?" + query
	}
	return w, true
}

// around returns the location with another one in the store.
func (w wrapped) around(below string) string {
	text, query, hasQuery := strings.Cut(below, "?")
	if w.node != "" && pathOf(text) == len(text) {
		text += "/" // or what is before the @ would be a user
	}
	start := pathOf(text)
	text = w.format + text[:start] + strings.ReplaceAll(text[start:], "@", "%40") + w.node
	if hasQuery {
		text += "?" + query
	}
	return text
}

// pathOf returns where the path of a location begins. A user may stand before the host.
func pathOf(text string) int {
	start := strings.Index(text, "://") + len("://")
	if i := strings.IndexByte(text[start:], '/'); i >= 0 {
		return start + i
	}
	return len(text)
}

// inBucket reports whether a location is one of an object store, which has a path that is
// not escaped.
func inBucket(location string) bool {
	scheme, _, found := strings.Cut(location, "://")
	return found && scheme != "http" && scheme != "https" && scheme != "file"
}

// bucketOf returns the part of a location up to the bucket.
func bucketOf(location string) string {
	scheme, rest, _ := strings.Cut(location, "://")
	bucket, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + bucket
}

// withOptions adds the options of its bucket to a location. The first segment may name an
// account, which has several containers with options of their own.
func withOptions(c *concealed, location string) string {
	if strings.Contains(location, "?") {
		return location
	}
	var found *concealed
	most := 0
	for bucket := bucketOf(location); c != nil; c = c.after {
		if bucketOf(c.shown) != bucket {
			continue
		}
		if n := common(c.shown, location); found == nil || n > most {
			found, most = c, n
		}
	}
	if found == nil {
		return location
	}
	return location + "?" + found.real
}

// common returns how well a concealed location fits another one: by the segments that
// both begin with, and among equals by whether the concealed one has no more.
func common(shown, location string) (n int) {
	a, b := strings.Split(strings.TrimRight(shown, "/"), "/"), strings.Split(location, "/")
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) {
		return 2*n + 1
	}
	return 2 * n
}

// Redact returns a URL without user, password, query and fragment, for messages. If the
// URL cannot be parsed, Redact cuts it at the first sign of one of these.
func Redact(location string) string {
	u, err := url.Parse(location)
	// Package url would leave out the slashes of a URL that names nothing. Special
	// characters in a password can make one malformed. Cut these by their delimiters.
	if err != nil || u.Opaque != "" || u.Host == "" && u.Path == "" && u.User == nil {
		scheme, rest, found := strings.Cut(location, "://")
		if !found {
			scheme, rest = "", location
		}
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			rest = rest[:i]
		}
		// A password may contain '@' too. In the location of a repository, '@' is also
		// before the branch: cut there only if there may be a user before the path.
		host, _, _ := strings.Cut(rest, "/")
		if _, ok := unwrap(location); !ok || strings.ContainsAny(host, ":@") {
			rest = rest[strings.LastIndexByte(rest, '@')+1:]
		}
		if !found {
			return rest
		}
		return scheme + "://" + rest
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// Split cuts a URL after the first path segment whose name ends in a suffix. It returns
// the URL up to there, with the query, and the unescaped rest without slashes around it.
// A URL without such a segment is returned unchanged.
func Split(location string, suffixes ...string) (root, rest string) {
	u, err := url.Parse(location)
	if err != nil {
		return location, ""
	}
	escaped, at := u.EscapedPath(), 0
	for segment := range strings.SplitAfterSeq(escaped, "/") {
		at += len(segment)
		name, err := url.PathUnescape(strings.TrimSuffix(segment, "/"))
		// The suffix alone is not a name.
		if err != nil || !own.EndsIn(name, suffixes...) {
			continue
		}
		u.RawPath = strings.TrimSuffix(escaped[:at], "/")
		rest, restErr := url.PathUnescape(strings.Trim(escaped[at:], "/"))
		if u.Path, err = url.PathUnescape(u.RawPath); err != nil || restErr != nil {
			break
		}
		return u.String(), rest
	}
	return location, ""
}
