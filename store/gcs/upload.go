// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// mostAtOnce is the size of the largest value that is written in one request. A larger
// one is uploaded in a session, so that a lost connection costs only a part of it.
const mostAtOnce = 16 << 20

// piece is the number of bytes in each request of a session. The service requires a
// multiple of 256 KiB.
const piece = 16 << 20

// upload is the session of one upload. The object appears when its last byte arrives,
// if the condition holds then.
type upload struct {
	w       *writing
	size    int64
	sum     string // checksum of the whole value, "" if it is not known
	session *url.URL
	sent    int64 // bytes that the service has
	doubt   bool  // an attempt that failed may have completed the value
}

// all uploads a value that is in memory.
func (u *upload) all(ctx context.Context, value []byte) (made string, err error) {
	return u.sessions(ctx, func() (made string, err error) {
		err = u.start(ctx)
		for err == nil && made == "" {
			made, err = u.send(ctx, value[u.sent:min(u.sent+piece, u.size)])
		}
		return made, err
	})
}

// errSession means that the session is there no more. The object does not appear, unless
// an earlier answer was lost.
var errSession = errors.New("the service has ended the session of the upload")

// mostSessions is how often an upload begins anew because the service ended its session.
const mostSessions = 3

// sessions uploads a value in one session, or in another one if the service ends it.
func (u *upload) sessions(ctx context.Context, whole func() (string, error)) (made string, err error) {
	for range mostSessions {
		u.session, u.sent = nil, 0
		if made, err = whole(); !errors.Is(err, errSession) {
			break
		}
	}
	if err != nil {
		u.abandon(ctx)
	}
	return made, err
}

// start begins the session.
func (u *upload) start(ctx context.Context) error {
	return u.w.s.reads.Do(ctx, u.begin)
}

// begin makes one attempt to begin the session.
func (u *upload) begin(ctx context.Context) error {
	s := u.w.s
	c := call{
		method: http.MethodPost, path: "/upload/storage/v1/b/" + s.bucket + "/o",
		query: u.w.query(url.Values{"uploadType": {"resumable"}, "name": {s.object(u.w.key)}, "fields": {described}}),
		header: http.Header{
			"Content-Type":            {"application/json; charset=UTF-8"},
			"X-Upload-Content-Length": {strconv.FormatInt(u.size, 10)},
		},
		body: [][]byte{encode(u.w.resource(u.sum))},
	}
	r, err := s.answer(ctx, s.request(ctx, c))
	if err != nil {
		return err
	}
	defer drain(r.Body)
	if r.StatusCode/100 != 2 {
		return s.failure(r)
	}
	u.session, err = s.endpoint.Parse(r.Header.Get("Location"))
	if err != nil || u.session.Host != s.endpoint.Host {
		u.session = nil
		return errors.New("the service began an upload at no URL of its own")
	}
	u.session.Scheme = s.endpoint.Scheme // emulators behind a proxy do not know it
	return nil
}

// send sends bytes that follow those that the service has. After an error that passes, it
// asks how many have arrived, and sends the rest. It returns the generation of the object
// with the last bytes.
func (u *upload) send(ctx context.Context, bytes []byte) (made string, err error) {
	begin, asked := u.sent, false
	err = u.w.s.reads.Do(ctx, func(ctx context.Context) error {
		if asked { // an earlier attempt failed
			if made, err = u.put(ctx, nil); err != nil || made != "" {
				return err
			}
			if u.sent < begin || u.sent > begin+int64(len(bytes)) {
				return fmt.Errorf("the service has %d bytes of the upload, not %d or more", u.sent, begin)
			}
		}
		asked = true
		made, err = u.put(ctx, bytes[u.sent-begin:])
		u.doubt = u.doubt || err != nil && !errors.Is(err, errSession) && driver.IsUncertain(err)
		return err
	})
	return made, err
}

// put makes one request of the session. Without bytes it asks how far the upload has
// come.
func (u *upload) put(ctx context.Context, bytes []byte) (made string, err error) {
	s := u.w.s
	span := "*"
	if len(bytes) > 0 {
		span = fmt.Sprintf("%d-%d", u.sent, u.sent+int64(len(bytes))-1)
	}
	r := &http.Request{
		Method: http.MethodPut, URL: u.session, Host: u.session.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Range": {fmt.Sprintf("bytes %s/%d", span, u.size)}},
	}
	setBody(r, [][]byte{bytes})
	answer, err := s.answer(ctx, r.WithContext(ctx))
	if err != nil {
		return "", err
	}
	defer drain(answer.Body)
	switch c := answer.StatusCode; {
	case c == http.StatusOK || c == http.StatusCreated:
		var d description
		if err := lost(ctx, decode(answer.Body, &d)); err != nil {
			return "", err
		}
		return d.Generation, nil
	case c == http.StatusPermanentRedirect: // "Resume Incomplete"
		return "", u.advance(answer.Header.Get("Range"), int64(len(bytes)))
	case c == http.StatusNotFound || c == http.StatusGone:
		return "", fmt.Errorf("%w (status %d)", errSession, c)
	default:
		return "", s.failure(answer)
	}
}

// advance records the bytes that the service has, by the header Range of its answer.
func (u *upload) advance(header string, sent int64) error {
	if header == "" {
		u.sent = 0
	} else {
		last, err := strconv.ParseInt(strings.TrimPrefix(header, "bytes=0-"), 10, 64)
		if err != nil || last < 0 || last >= u.size {
			return fmt.Errorf("the service has the range %.60q of an upload of %d bytes", header, u.size)
		}
		if sent > 0 && last+1 < u.sent+sent {
			u.sent = last + 1
			return driver.Temporary(errors.New("the service did not take all bytes"), 0)
		}
		u.sent = last + 1
	}
	if u.sent == u.size {
		return driver.Temporary(errors.New("the service has all bytes, but no object"), 0)
	}
	if sent > 0 && u.sent == 0 {
		return driver.Temporary(errors.New("the service took no bytes"), 0)
	}
	return nil
}

// abandonTime is the time that the service has to end a session.
const abandonTime = 30 * time.Second

// abandon ends a session that will not be completed. A session that cannot be ended takes
// no space that anybody sees, and ends after a week.
func (u *upload) abandon(ctx context.Context) {
	if u.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(store.Finishing(ctx), abandonTime)
	defer cancel()
	r := &http.Request{Method: http.MethodDelete, URL: u.session, Host: u.session.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	setBody(r, nil)
	_ = u.w.s.reads.Do(ctx, func(ctx context.Context) error {
		answer, err := u.w.s.answer(ctx, r.WithContext(ctx))
		if err == nil {
			drain(answer.Body)
		}
		return err
	})
	u.session = nil
}

// drain reads the rest of a short answer, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, driver.MostFault)
	body.Close()
}
