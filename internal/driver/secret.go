// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"net/url"
	"strings"
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
// What a location with icechunk+ before it hides applies to its repository: "s3://b/r" is
// then opened with the options of "icechunk+s3://b/r@main/t2m?endpoint=…".
func Conceal(ctx context.Context, location string) (context.Context, string) {
	plain := strings.TrimPrefix(location, repositoryPrefix)
	before, _ := ctx.Value(concealedKey{}).(*concealed)
	if inBucket(plain) {
		shown, query, found := strings.Cut(location, "?")
		if !found {
			return ctx, location
		}
		return context.WithValue(ctx, concealedKey{}, &concealed{repositoryOf(shown), query, before}), shown
	}
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return ctx, location
	}
	shown := strings.TrimRight(Redact(location), "/")
	return context.WithValue(ctx, concealedKey{}, &concealed{repositoryOf(shown), plain, before}), shown
}

// Reveal returns the whole URL for a location in ctx; see [Conceal]. If several URLs
// match, it uses the longest.
func Reveal(ctx context.Context, location string) string {
	var found *concealed
	c, _ := ctx.Value(concealedKey{}).(*concealed)
	plain, inRepository := strings.CutPrefix(location, repositoryPrefix)
	if inBucket(plain) {
		return withOptions(c, location)
	}
	for place := repositoryOf(location); c != nil; c = c.after {
		rest, ok := strings.CutPrefix(place, c.shown)
		if ok && (rest == "" || rest[0] == '/') && (found == nil || len(c.shown) > len(found.shown)) {
			found = c
		}
	}
	if found == nil {
		return location
	}
	u, err := url.Parse(found.real)
	rest, restErr := url.Parse(plain)
	if err != nil || restErr != nil {
		return location
	}
	// Take the path from the location, and everything else from the whole URL.
	u.Path, u.RawPath = rest.Path, rest.RawPath
	if inRepository {
		return repositoryPrefix + u.String()
	}
	return u.String()
}

// repositoryPrefix begins the locations of nodes in repositories of Icechunk.
const repositoryPrefix = "icechunk+"

// repositoryOf returns the location of the repository that a location without secrets
// leads into, as package icechunk opens it. Other locations are returned unchanged.
func repositoryOf(location string) string {
	text, ok := strings.CutPrefix(location, repositoryPrefix)
	if !ok {
		return location
	}
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "@") // what follows is a branch and the path of a node
	return strings.TrimRight(scheme+"://"+host+"/"+strings.ReplaceAll(path, "%40", "@"), "/")
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
	most, place := 0, repositoryOf(location)
	for bucket := bucketOf(place); c != nil; c = c.after {
		if bucketOf(c.shown) != bucket {
			continue
		}
		if n := common(c.shown, place); found == nil || n > most {
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
		if !strings.HasPrefix(location, repositoryPrefix) || strings.ContainsAny(host, ":@") {
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

// Split cuts a URL after the first path segment whose name ends in suffix. It returns the
// URL up to there, with the query, and the unescaped rest without slashes around it. A
// URL without such a segment is returned unchanged.
func Split(location, suffix string) (root, rest string) {
	u, err := url.Parse(location)
	if err != nil {
		return location, ""
	}
	escaped, at := u.EscapedPath(), 0
	for segment := range strings.SplitAfterSeq(escaped, "/") {
		at += len(segment)
		name, err := url.PathUnescape(strings.TrimSuffix(segment, "/"))
		// The suffix alone is not a name.
		if err != nil || !strings.HasSuffix(name, suffix) || name == suffix {
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
