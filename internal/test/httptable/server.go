// SPDX-License-Identifier: Apache-2.0

package httptable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server is a server that is asked.
type Server struct {
	Address string // of a port
	Value   string // the path that has the value, "" for [Value]
	Own     bool   // it is package serve

	words *strings.Replacer
}

// limit is how long an exchange may take. It ends a test that would hang.
const limit = 30 * time.Second

// Ask sends the request of a row, and a second one over the same connection, which an
// answer of a wrong length would spoil. It returns what is wrong with the answers.
func (s *Server) Ask(row Row) error {
	if err := s.prepare(); err != nil {
		return err
	}
	answers, err := s.exchange(row)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if !s.Own && row.Differs != "" {
			if row.Nginx != 0 && a.status != row.Nginx {
				return fmt.Errorf("status %d, although the table says %d: %s", a.status, row.Nginx, row.Differs)
			}
			continue
		}
		if err := s.check(row, a); err != nil {
			return fmt.Errorf("%w (status %d, %v, %.200q)", err, a.status, a.header, a.body)
		}
	}
	return nil
}

// prepare learns what the server calls the value.
func (s *Server) prepare() error {
	if s.words != nil {
		return nil
	}
	first, err := s.exchange(Row{Status: http.StatusOK})
	if err != nil {
		return err
	}
	words := []string{"{etag}", first[0].header.Get("ETag")}
	// Chunks of views have no date, and are not asked for one.
	if at, err := http.ParseTime(first[0].header.Get("Last-Modified")); err == nil {
		words = append(words, modified, at.Format(http.TimeFormat), rfc850, at.Format("Monday, 02-Jan-06 15:04:05 GMT"), asctime, at.Format(time.ANSIC),
			before, at.Add(-time.Second).Format(http.TimeFormat), after, at.Add(time.Second).Format(http.TimeFormat))
	}
	s.words = strings.NewReplacer(words...)
	return nil
}

// Do sends the request of a row and returns the headers of its answer, and its status.
func (s *Server) Do(row Row) (int, http.Header, error) {
	if err := s.prepare(); err != nil {
		return 0, nil, err
	}
	answers, err := s.exchange(row)
	if err != nil {
		return 0, nil, err
	}
	return answers[0].status, answers[0].header, nil
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// text returns the request of a row.
func (s *Server) text(row Row) string {
	path, version := row.Path, row.Version
	if path == "" {
		path = s.value()
	}
	if version == "" {
		version = "HTTP/1.1"
	}
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s %s %s\r\n", row.method(), path, version)
	if hasHost := slices.ContainsFunc(row.Headers, func(line string) bool { return strings.HasPrefix(line, "Host:") }); !hasHost && !row.NoHost {
		b.WriteString("Host: localhost\r\n")
	}
	for _, line := range row.Headers {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + row.Sent)
	return s.fill(b.String())
}

// fill puts what the server calls the value into a text.
func (s *Server) fill(text string) string {
	if s.words == nil {
		return text
	}
	return s.words.Replace(text)
}

func (s *Server) value() string {
	if s.Value == "" {
		return Value
	}
	return s.Value
}

func (r *Row) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// exchange returns the answers to the requests of a row.
func (s *Server) exchange(row Row) ([]reply, error) {
	c, err := net.Dial("tcp", s.Address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	n, differs := max(1, row.Repeat), !s.Own && row.Differs != ""
	if differs {
		n = 1
	}
	request := strings.Repeat(s.text(row), n)
	if !row.Closes && !differs {
		request += "GET " + s.value() + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=10-12\r\nConnection: close\r\n\r\n"
	}
	// A server may answer and close before it has read all.
	go func() { _, _ = io.WriteString(c, request) }()
	in := bufio.NewReader(c)
	var answers []reply
	for range n {
		a, err := read(in, row.method())
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	if differs {
		return answers, nil
	}
	if !row.Closes {
		last, err := read(in, http.MethodGet)
		if errors.Is(err, io.ErrUnexpectedEOF) && !s.Own {
			return answers, nil // any server may close a connection after an answer
		}
		if err != nil || last.status != http.StatusPartialContent || string(last.body) != string(Content()[10:13]) {
			return nil, fmt.Errorf("the next request of the connection: status %d, %q, %w", last.status, last.body, err)
		}
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 {
		return nil, fmt.Errorf("%.100q after the answer, %w", rest, err)
	}
	return answers, nil
}

// read reads an answer, and what leads to it.
func read(in *bufio.Reader, method string) (reply, error) {
	is, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	if is.StatusCode == http.StatusContinue {
		return read(in, method)
	}
	defer is.Body.Close()
	text, err := io.ReadAll(is.Body)
	if te := is.TransferEncoding; te != nil {
		is.Header.Set("Transfer-Encoding", strings.Join(te, ","))
	}
	if is.Close {
		is.Header.Set("Connection", "close") // package net/http took it out
	}
	return reply{is.StatusCode, is.Header, text}, err
}

// check compares an answer with a row, and with what holds for all answers.
func (s *Server) check(row Row, a reply) error {
	if a.status != row.Status {
		return fmt.Errorf("status %d, want %d", a.status, row.Status)
	}
	want := row.Want
	if s.Own {
		want = slices.Concat(want, row.Own)
	}
	for _, line := range want {
		if err := s.checkHeader(a.header, line); err != nil {
			return err
		}
	}
	if err := checkBody(row.Body, a); err != nil {
		return err
	}
	return checkAlways(row.method(), a)
}

func (s *Server) checkHeader(h http.Header, line string) error {
	name, value, valued := strings.Cut(s.fill(line), ": ")
	if name, absent := strings.CutPrefix(name, "!"); absent {
		if h.Get(name) != "" {
			return fmt.Errorf("%s is %q, and should not be there", name, h.Get(name))
		}
		return nil
	}
	if is := strings.Join(h.Values(name), ", "); is == "" || valued && is != value {
		return fmt.Errorf("%s is %q, want %q", name, is, value)
	}
	return nil
}

// checkBody compares the body of an answer with the value.
func checkBody(want Body, a reply) error {
	switch content := Content(); {
	case want.spans == nil:
		return nil
	case len(want.spans) == 0:
		if len(a.body) > 0 {
			return fmt.Errorf("a body of %d bytes", len(a.body))
		}
		return nil
	case len(want.spans) == 1:
		is := want.spans[0]
		if string(a.body) != string(content[is.first:is.end]) {
			return fmt.Errorf("%d bytes that are not %d to %d", len(a.body), is.first, is.end)
		}
		if text := contentRange(is); a.status == http.StatusPartialContent && a.header.Get("Content-Range") != text {
			return fmt.Errorf("Content-Range is %q, want %q", a.header.Get("Content-Range"), text)
		}
		return nil
	default:
		return checkParts(want.spans, a, content)
	}
}

func contentRange(is span) string {
	return fmt.Sprintf("bytes %d-%d/%d", is.first, is.end-1, size)
}

// checkParts checks several ranges (RFC 9110, section 14.6).
func checkParts(want []span, a reply, content []byte) error {
	kind, parameters, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind != "multipart/byteranges" || a.header.Get("Content-Range") != "" {
		return fmt.Errorf("several ranges of type %q, %w", kind, err)
	}
	parts := multipart.NewReader(strings.NewReader(string(a.body)), parameters["boundary"])
	for _, is := range want {
		part, err := parts.NextPart()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(part)
		if err != nil || string(text) != string(content[is.first:is.end]) || part.Header.Get("Content-Range") != contentRange(is) || part.Header.Get("Content-Type") == "" {
			return fmt.Errorf("%d bytes of %v, want %s, %w", len(text), part.Header, contentRange(is), err)
		}
	}
	if _, err := parts.NextPart(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more parts than ranges, %w", err)
	}
	return nil
}

// checkAlways checks what holds for all answers: they have a date (RFC 9110, section
// 6.6.1), a length that is true (8.6), no content coding, no body after HEAD (9.3.2) and
// where the status forbids it, and no modification of the future (8.8.2.1). Only a 206 or
// a 416 has Content-Range (14.4).
func checkAlways(method string, a reply) error {
	h := a.header
	if h.Get("Content-Encoding") != "" {
		return fmt.Errorf("Content-Encoding is %q", h.Get("Content-Encoding"))
	}
	date, err := http.ParseTime(h.Get("Date"))
	// Package net/http and nginx refuse what they cannot parse without a date.
	malformed := slices.Contains([]int{400, 431, 501, 505}, a.status)
	if err != nil && !malformed {
		return fmt.Errorf("the Date is %q", h.Get("Date"))
	}
	if last := h.Get("Last-Modified"); last != "" {
		if at, err := http.ParseTime(last); err != nil || at.After(date) {
			return fmt.Errorf("Last-Modified is %q at %v", last, date)
		}
	}
	length := h.Get("Content-Length")
	empty := method == http.MethodHead || a.status == http.StatusNoContent || a.status == http.StatusNotModified
	switch {
	case empty && len(a.body) > 0:
		return fmt.Errorf("a body of %d bytes", len(a.body))
	case !empty && length != "" && length != strconv.Itoa(len(a.body)):
		return fmt.Errorf("Content-Length is %s, and there are %d bytes", length, len(a.body))
	case a.status == http.StatusNoContent && length != "":
		return errors.New("204 has Content-Length")
	}
	if tag := strings.TrimPrefix(h.Get("ETag"), "W/"); tag != "" && (len(tag) < 3 || tag[0] != '"' || strings.Trim(tag, `"`) != tag[1:len(tag)-1]) {
		return fmt.Errorf("ETag is %q", tag)
	}
	if ranged := a.status == http.StatusPartialContent || a.status == http.StatusRequestedRangeNotSatisfiable; !ranged && h.Get("Content-Range") != "" {
		return fmt.Errorf("Content-Range is %q", h.Get("Content-Range"))
	}
	if a.status == http.StatusMethodNotAllowed && h.Get("Allow") == "" && h.Get("Server") == "" {
		return errors.New("405 without Allow")
	}
	return nil
}

// CompareHead compares the headers of HEAD with those of GET.
func (s *Server) CompareHead(row Row) error {
	var told []http.Header
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		row.Method = method
		status, h, err := s.Do(row)
		if err != nil {
			return err
		}
		h.Set("Status", strconv.Itoa(status))
		told = append(told, h)
	}
	for _, name := range []string{"Status", "Accept-Ranges", "Allow", "Cache-Control", "Content-Type", "ETag", "Last-Modified", "Location", "Vary", "Content-Length"} {
		get, head := told[0].Get(name), told[1].Get(name)
		if get != head && get+head != "0" {
			return fmt.Errorf("%s is %q for GET and %q for HEAD", name, get, head)
		}
	}
	return nil
}
