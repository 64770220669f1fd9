// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/retry"
)

// option is an option of one request of the SDK.
type option = func(*s3.Options)

// call is one operation of the SDK: its name, and the object or prefix it is about.
type call struct {
	name, key string
}

// do makes attempts of an operation. An attempt makes a new request with the options that
// it gets.
func (s *Store) do(ctx context.Context, c call, attempt func(ctx context.Context, o option) error) error {
	err := s.reader.Do(ctx, func(ctx context.Context) error { return s.explain(ctx, c, s.followRegion(ctx, attempt)) })
	return s.withPlace(ctx, c, err)
}

// withPlace returns an error with the place of an operation, if it has none: that of an
// attempt that took too long comes from the reader.
func (s *Store) withPlace(ctx context.Context, c call, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*explained)) {
		return err
	}
	return &explained{s.name(c), err}
}

// followRegion makes one attempt. If the answer names another region, it sends the request
// there, once. The attempt returns the error of the SDK.
func (s *Store) followRegion(ctx context.Context, attempt func(ctx context.Context, o option) error) error {
	where := s.signer.place()
	err := attempt(ctx, s.at(where))
	var answer *smithyhttp.ResponseError
	if err != nil && errors.As(err, &answer) && answer.Response != nil {
		if next := s.movedTo(ctx, answer.Response.StatusCode, answer.Response.Header, where); next != nil {
			return attempt(ctx, s.at(next))
		}
	}
	return err
}

// at returns the options of a request to a place.
func (s *Store) at(where *place) option {
	return func(o *s3.Options) {
		o.Region = where.region
		o.HTTPClient = sender{s.reader}
		for name, values := range s.options.Header {
			for _, value := range values {
				o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue(name, value))
			}
		}
	}
}

// sender sends the SDK's requests with those that read: within the same limits, and on
// the same connections.
type sender struct{ reader *httpstore.Store }

func (s sender) Do(r *http.Request) (*http.Response, error) {
	answer, err := s.reader.Send(r.WithContext(context.WithValue(r.Context(), signedKey{}, true)))
	if err != nil || !isPage(answer.Header) || r.Method == http.MethodHead && !isPageOfObject(answer) {
		return answer, err
	}
	// The SDK would take the page of a proxy for an answer: a write or a deletion that
	// has succeeded, or an empty listing. No request of this client reads an object.
	defer answer.Body.Close()
	return nil, retry.Permanent(pageOf(answer))
}

// signedKey is the context key of requests that are signed already.
type signedKey struct{}

// explain returns an error with the place of an operation.
func (s *Store) explain(ctx context.Context, c call, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*explained)):
		return err
	}
	if page := (*failure)(nil); errors.As(err, &page) {
		return page.retryable(&explained{s.name(c), page})
	}
	if lacking := (*credentialError)(nil); errors.As(err, &lacking) {
		return &explained{s.name(c), lacking}
	}
	// What the SDK writes around these errors says nothing more.
	var sending *smithyhttp.RequestSendError
	if errors.As(err, &sending) {
		return retry.Network(ctx, &explained{s.name(c), sending.Err})
	}
	if f := asFailure(err); f != nil {
		return f.retryable(&explained{s.name(c), f})
	}
	return &explained{s.name(c), bare(err)}
}

// explained is an error with the place where it happened.
type explained struct {
	where string
	err   error
}

func (e *explained) Error() string { return e.where + ": " + e.err.Error() }
func (e *explained) Unwrap() error { return e.err }

// name returns the text that begins errors of an operation.
func (s *Store) name(c call) string {
	where := fmt.Sprintf("s3: s3://%s/%s", s.bucket, c.key)
	if s.options.Endpoint != "" {
		where += " at " + driver.Redact(s.options.Endpoint)
	}
	if c.name != "" {
		where += ": " + c.name
	}
	return where
}

// text returns a pointer to s, or nil if it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

// failure is the answer of a service that has not done what was asked.
type failure struct {
	status  int
	code    string // such as "NoSuchKey", "" if the answer has none
	message string // of the service
	id      string // of the request
	when    string // Date header
	region  string // of the bucket, if the answer names it
	foreign bool   // the answer is not one of S3
	page    bool   // the answer is a page for people
	broken  bool   // the answer broke off, so that its code is not known
	after   time.Duration
}

// Error says what the service answered, and what to do.
func (f *failure) Error() string {
	var b strings.Builder
	if f.page && f.foreign {
		b.WriteString("a page of HTML came instead of an answer of the service: ")
	}
	b.WriteString(cmp.Or(f.code, http.StatusText(f.status), "an answer that is not understood"))
	if f.status != 0 {
		fmt.Fprintf(&b, " (status %d", f.status)
		if f.id != "" {
			fmt.Fprintf(&b, ", request %s", f.id)
		}
		b.WriteByte(')')
	}
	if f.message != "" {
		fmt.Fprintf(&b, ": %s", strings.TrimRight(f.message, "."))
	}
	if advice := f.advice(); advice != "" {
		fmt.Fprintf(&b, "; %s", advice)
	}
	return b.String()
}

// Unwrap returns the error of package fs that callers look for, or nil.
func (f *failure) Unwrap() error {
	switch {
	case f.missing():
		return fs.ErrNotExist
	case f.code == "NoSuchBucket":
		return store.ErrNoBucket
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden && f.code != "RequestTimeTooSkewed":
		return fs.ErrPermission
	}
	return nil
}

// missing reports whether there is no object. The answer 404 to HEAD has no code. A
// missing bucket is another error, because its chunks must not be read as fill values.
func (f *failure) missing() bool {
	switch f.code {
	case "NoSuchKey", "NotFound", "NoSuchVersion":
		return !f.foreign
	}
	return f.status == http.StatusNotFound && f.code == "" && !f.foreign && !f.broken
}

// credentials reports whether the service refused the credentials or the signature. Then
// the answer says nothing about the object.
func (f *failure) credentials() bool {
	switch f.code {
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch",
		"RequestTimeTooSkewed", "RequestExpired", "AuthorizationHeaderMalformed", "AuthorizationQueryParametersError",
		"CredentialsNotSupported", "InvalidSecurity", "NotSignedUp", "AccountProblem":
		return true
	}
	return false
}

// denied reports whether the service refused the request for lack of permission, which
// some answer for a missing object. A page of a proxy says nothing about the object.
func (f *failure) denied() bool { return !f.foreign && (f.code == "" || f.code == "AccessDenied") }

// unmet reports whether the condition of a request did not hold.
func (f *failure) unmet() bool {
	return f.status == http.StatusPreconditionFailed || f.code == "PreconditionFailed"
}

// lacking reports whether the service does not know a kind of request.
func (f *failure) lacking() bool {
	return f.status == http.StatusNotImplemented || f.status == http.StatusMethodNotAllowed || f.code == "NotImplemented" ||
		f.code == "MethodNotAllowed" || f.code == "UnsupportedArgument"
}

// noBatch reports whether the service does not delete several objects at once. Some
// answer that the request is malformed.
func (f *failure) noBatch() bool {
	return f.lacking() || f.foreign || f.status == http.StatusBadRequest && !f.passes() && !f.throttled() && !f.credentials()
}

// unsure reports whether the service may have acted on the request. An answer 503 that
// asks for patience counts too: it may come after the service has acted. An answer 429
// says that it has not.
func (f *failure) unsure() bool {
	return f.broken && f.success() || f.status >= 500 && !f.lacking()
}

// success reports whether the status is that of a success, whatever the body says.
func (f *failure) success() bool { return f.status >= 200 && f.status < 300 }

// throttled reports whether the service gets too many requests.
func (f *failure) throttled() bool {
	switch f.code {
	case "SlowDown", "TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException", "RequestThrottled", "BandwidthLimitExceeded":
		return true
	}
	return f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable
}

// passes reports whether another attempt may succeed.
func (f *failure) passes() bool {
	switch f.code {
	case "RequestTimeout", "InternalError", "ConditionalRequestConflict", "OperationAborted":
		return true
	}
	return f.broken || f.status >= 500 && !f.lacking() || f.status == http.StatusRequestTimeout
}

// retryable returns err, the error of f with its context, as one for package retry.
func (f *failure) retryable(err error) error {
	switch {
	case f.throttled():
		return retry.Throttled(err, f.after)
	case f.passes():
		return retry.Temporary(err, f.after)
	// One of the machines of the service may have a wrong clock. If that of this machine
	// is wrong, all say so. TimedOut means that the request is repeated only once.
	case f.code == "RequestTimeTooSkewed":
		return retry.TimedOut(err)
	// A service on files (versitygw) also says this of a folder that another request
	// deletes at this moment, because it is empty.
	case f.code == "ExistingObjectIsDirectory":
		return retry.TimedOut(err)
	}
	return err
}

// advice says what the user can do.
func (f *failure) advice() string {
	switch f.code {
	case "NoSuchBucket":
		return "the bucket does not exist: check the name of the bucket, and the option endpoint if the service is not Amazon's, or create the bucket first"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		return "the credentials have expired; sign in again (aws sso login) or renew AWS_SESSION_TOKEN"
	case "InvalidAccessKeyId":
		return "check AWS_ACCESS_KEY_ID or AWS_PROFILE, and the option endpoint if the service is not Amazon's"
	case "SignatureDoesNotMatch":
		return "check AWS_SECRET_ACCESS_KEY; a proxy that changes requests has the same effect"
	case "RequestTimeTooSkewed":
		return fmt.Sprintf("set the clock of this machine: it shows %s, and that of the service %s", time.Now().UTC().Format(http.TimeFormat), cmp.Or(f.when, "another time"))
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException", "AuthorizationQueryParametersError":
		if f.region != "" {
			return "the bucket is in the region " + f.region + "; set the option region or AWS_REGION"
		}
		return "set the option region, or AWS_REGION, to the region of the bucket"
	case "InvalidObjectState":
		return "the object is in an archive class; restore it first"
	case "XAmzContentSHA256Mismatch", "BadDigest":
		return "the body was changed on its way; retry"
	case "EntityTooLarge":
		return "the service refuses a request of this size; choose smaller parts (Options.PartSize)"
	}
	switch {
	case f.broken:
		return "the answer broke off"
	case f.foreign:
		return "this does not look like S3; check the option endpoint, and proxies"
	case f.status == http.StatusForbidden:
		return "check the permissions of the credentials; for a public bucket try anon=true, and for one that charges its users requester_pays=true. A service also answers this for a missing object to users who may not list the bucket"
	case f.status >= 300 && f.status < 400 || f.status == http.StatusMisdirectedRequest:
		return "redirections are not followed; set the options region and endpoint to where the bucket is"
	}
	return ""
}

// failureOf returns the failure that an answer describes. It reads the body.
func failureOf(r *http.Response) *failure {
	f := &failure{status: r.StatusCode}
	f.fill(r.Header)
	if r.Request != nil && r.Request.Method == http.MethodHead {
		return f
	}
	body, cut := io.ReadAll(io.LimitReader(r.Body, mostDiscarded))
	var e struct {
		XMLName                          xml.Name
		Code, Message, RequestID, Region string
		RequestId                        string //nolint:revive // the name of the element
	}
	if err := xml.Unmarshal(body, &e); err != nil || e.XMLName.Local != "Error" {
		if f.broken = cut != nil; !f.broken {
			f.foreign = len(body) > 0 && r.StatusCode < 500
			f.page = isPage(r.Header)
		}
		return f
	}
	f.code, f.message, f.id = e.Code, printable(e.Message), cmp.Or(f.id, printable(e.RequestId))
	f.region = cmp.Or(f.region, printable(e.Region))
	return f
}

// isPage reports whether an answer is a page for people, such as that of a proxy.
func isPage(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "text/html") }

// isPageOfObject reports whether a success with an object is a page, also if it is an
// answer to HEAD, which has no body. Every object has an ETag. Some services send the
// type of a page with an error.
func isPageOfObject(r *http.Response) bool {
	return r.StatusCode < 300 && isPage(r.Header) && r.Header.Get("ETag") == ""
}

// pageOf returns the failure that a page is, whatever its status.
func pageOf(r *http.Response) *failure {
	f := &failure{status: r.StatusCode, foreign: r.StatusCode < 500, page: true}
	f.fill(r.Header)
	discard(r.Body)
	return f
}

// noTag is the failure of an answer without the ETag that every object has.
func noTag() *failure { return &failure{status: http.StatusOK, foreign: true} }

// fill takes what the headers of an answer say.
func (f *failure) fill(h http.Header) {
	f.id, f.when, f.region = printable(h.Get("X-Amz-Request-Id")), printable(h.Get("Date")), printable(h.Get(regionHeader))
	f.after = driver.RetryAfter(h)
}

// printable returns text of the service for a message.
func printable(s string) string { return driver.Printable(s, 300) }

// asFailure returns the failure in an error of the SDK, or nil if there was no answer.
func asFailure(err error) *failure {
	var answer *awshttp.ResponseError
	var api smithy.APIError
	f := &failure{}
	if errors.As(err, &answer) && answer.HTTPResponse() != nil {
		f.status = answer.HTTPStatusCode()
		f.fill(answer.HTTPResponse().Header)
		f.id = cmp.Or(f.id, printable(answer.ServiceRequestID()))
	}
	if errors.As(err, &api) {
		f.code, f.message = api.ErrorCode(), printable(api.ErrorMessage())
		// The SDK makes codes of statuses.
		if f.code == "UnknownError" || f.code == http.StatusText(f.status) || strings.Contains(f.code, " ") {
			f.code = ""
		}
	}
	if f.status == 0 && f.code == "" {
		return nil
	}
	f.page = answer != nil && answer.Response != nil && isPage(answer.Response.Header)
	// An answer 200 may have an error in its body.
	if f.success() && f.code == "" {
		f.broken = retry.IsTemporary(err) || errors.Is(err, io.ErrUnexpectedEOF)
		f.foreign = !f.broken
	}
	return f
}
