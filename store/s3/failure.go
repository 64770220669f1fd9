// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

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

// kind is what the code of an answer means for the request.
type kind uint8

const (
	final       kind = iota // refused for a reason that stays
	missing                 // there is no object
	noBucket                // its chunks must not be read as fill values
	credentials             // those of the request are refused: nothing is said about the object
	forbidden               // a permission is missing, whatever the status
	unmet                   // the condition of the request did not hold
	lacking                 // the service does not know this kind of request
	throttled               // the service gets too many requests
	passing                 // another attempt may succeed
	once                    // one other attempt may succeed
)

// code is what is known of an error code.
type code struct {
	kind   kind
	advice func(f *failure) string // what the user can do; nil if that depends on the status
}

// says returns advice that is the same for all answers with a code.
func says(advice string) func(*failure) string { return func(*failure) string { return advice } }

// codes has the error codes of Amazon's service, and of services that have its interface.
// A code that is not here is judged by the status of the answer.
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
var codes = map[string]code{
	"NoSuchKey":     {kind: missing},
	"NoSuchVersion": {kind: missing},
	"NotFound":      {kind: missing},
	"NoSuchBucket":  {noBucket, says("the bucket does not exist: check the name of the bucket, and the option endpoint if the service is not Amazon's, or create the bucket first")},

	"ExpiredToken":                      {credentials, says(renew)},
	"ExpiredTokenException":             {credentials, says(renew)},
	"TokenRefreshRequired":              {credentials, says(renew)},
	"InvalidAccessKeyId":                {credentials, says("check AWS_ACCESS_KEY_ID or AWS_PROFILE, and the option endpoint if the service is not Amazon's")},
	"SignatureDoesNotMatch":             {credentials, says("check AWS_SECRET_ACCESS_KEY; a proxy that changes requests has the same effect")},
	"AuthorizationHeaderMalformed":      {credentials, chooseRegion},
	"AuthorizationQueryParametersError": {credentials, chooseRegion},
	clockSkewed:                         {credentials, setClock},
	"RequestExpired":                    {kind: credentials},
	"InvalidToken":                      {kind: credentials},
	"CredentialsNotSupported":           {kind: credentials},
	"InvalidSecurity":                   {kind: credentials},
	"NotSignedUp":                       {kind: credentials},
	"AccountProblem":                    {kind: credentials},

	"KMS.DisabledException":        {forbidden, says(enableKey)},
	"KMS.InvalidKeyUsageException": {forbidden, says(enableKey)},
	"KMS.KMSInvalidStateException": {forbidden, says(enableKey)},
	"KMS.NotFoundException":        {forbidden, says(enableKey)},
	"KMS.KMSAccessDeniedException": {forbidden, says(enableKey)},
	"KMS.AccessDeniedException":    {forbidden, says(enableKey)},

	"PreconditionFailed":  {kind: unmet},
	"NotImplemented":      {kind: lacking},
	"MethodNotAllowed":    {kind: lacking},
	"UnsupportedArgument": {kind: lacking},

	"SlowDown":               {kind: throttled},
	"TooManyRequests":        {kind: throttled},
	"RequestLimitExceeded":   {kind: throttled},
	"Throttling":             {kind: throttled},
	"ThrottlingException":    {kind: throttled},
	"RequestThrottled":       {kind: throttled},
	"BandwidthLimitExceeded": {kind: throttled},

	"RequestTimeout":             {kind: passing},
	"InternalError":              {kind: passing},
	"ConditionalRequestConflict": {kind: passing},
	"OperationAborted":           {kind: passing},
	// A service on files (versitygw) says this of a folder that another request deletes
	// at this moment, because it is empty.
	"ExistingObjectIsDirectory": {kind: once},

	"PermanentRedirect":                  {final, chooseRegion},
	"IllegalLocationConstraintException": {final, chooseRegion},
	"InvalidObjectState":                 {final, says("the object is in an archive class; restore it first")},
	"XAmzContentSHA256Mismatch":          {final, says(sendAgain)},
	"BadDigest":                          {final, says(sendAgain)},
	"EntityTooLarge":                     {final, says("the service refuses a request of this size; choose smaller parts (Options.PartSize)")},
}

// clockSkewed is the code for a clock that differs too much.
const clockSkewed = "RequestTimeTooSkewed"

const (
	renew     = "the credentials have expired; sign in again (aws sso login) or renew AWS_SESSION_TOKEN"
	sendAgain = "the body was changed on its way; retry"
	enableKey = "the key that encrypts the object cannot be used: enable it, name another one with the option sse_kms_key_id, or ask for the permissions kms:GenerateDataKey and kms:Decrypt"
)

// chooseRegion is the advice for a request that went to another region than the bucket's.
func chooseRegion(f *failure) string {
	if f.region != "" {
		return "the bucket is in the region " + f.region + "; set the option region or AWS_REGION"
	}
	return "set the option region, or AWS_REGION, to the region of the bucket"
}

// setClock is the advice for a clock that differs too much.
func setClock(f *failure) string {
	return fmt.Sprintf("set the clock of this machine: it shows %s, and that of the service %s",
		time.Now().UTC().Format(http.TimeFormat), cmp.Or(f.when, "another time"))
}

// is reports whether the code of the answer is of a kind.
func (f *failure) is(k kind) bool { return k != final && codes[f.code].kind == k }

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

// Unwrap returns the error that callers look for, or nil.
func (f *failure) Unwrap() error {
	switch {
	case f.missing():
		return fs.ErrNotExist
	case f.is(noBucket):
		return store.ErrNoBucket
	case f.is(forbidden), f.status == http.StatusUnauthorized, f.status == http.StatusForbidden && f.code != clockSkewed:
		return fs.ErrPermission
	}
	return nil
}

// missing reports whether there is no object. The answer 404 to HEAD has no code.
func (f *failure) missing() bool {
	return !f.foreign && (f.is(missing) || f.status == http.StatusNotFound && f.code == "" && !f.broken)
}

// mayHide reports whether the answer may hide that there is no object: some services
// refuse a request for a missing one for lack of permission. A page of a proxy says
// nothing about the object.
func (f *failure) mayHide() bool { return !f.foreign && (f.code == "" || f.code == "AccessDenied") }

// unmet reports whether the condition of a request did not hold.
func (f *failure) unmet() bool { return f.status == http.StatusPreconditionFailed || f.is(unmet) }

// lacking reports whether the service does not know a kind of request.
func (f *failure) lacking() bool {
	return f.status == http.StatusNotImplemented || f.status == http.StatusMethodNotAllowed || f.is(lacking)
}

// noBatch reports whether the service does not delete several objects at once. Some
// answer that the request is malformed.
func (f *failure) noBatch() bool {
	return f.lacking() || f.foreign || f.status == http.StatusBadRequest && !f.unrelated()
}

// unrelated reports whether the answer has another reason than what was asked: who asked,
// and when. It tells nothing about what the service can do.
func (f *failure) unrelated() bool {
	return f.passes() || f.throttled() || f.is(credentials) || f.is(forbidden)
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
	return f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable || f.is(throttled)
}

// passes reports whether another attempt may succeed.
func (f *failure) passes() bool {
	return f.broken || f.status >= 500 && !f.lacking() || f.status == http.StatusRequestTimeout || f.is(passing)
}

// retryable returns err, the error of f with its context, as one for package retry.
func (f *failure) retryable(err error) error {
	switch {
	case f.throttled():
		return driver.Throttled(err, f.after)
	case f.passes():
		return driver.Temporary(err, f.after)
	// One of the machines of the service may have a wrong clock. If that of this machine
	// is wrong, all say so. TimedOut means that the request is repeated only once.
	case f.code == clockSkewed, f.is(once):
		return driver.TimedOut(err)
	}
	return err
}

// advice says what the user can do.
func (f *failure) advice() string {
	if advice := codes[f.code].advice; advice != nil {
		return advice(f)
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
		f.page = driver.IsPage(r.Header)
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
			f.page = driver.IsPage(r.Header)
		}
		return f
	}
	f.code, f.message, f.id = e.Code, printable(e.Message), cmp.Or(f.id, printable(e.RequestId))
	f.region = cmp.Or(f.region, printable(e.Region))
	return f
}

// isPageOfObject reports whether a success with an object is a page, also if it is an
// answer to HEAD, which has no body. Every object has an ETag. Some services send the
// type of a page with an error.
func isPageOfObject(r *http.Response) bool {
	return r.StatusCode < 300 && driver.IsPage(r.Header) && r.Header.Get("ETag") == ""
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
