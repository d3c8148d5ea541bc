package api

import (
	"errors"
	"fmt"
	"net/http"

	"routerd/config"
)

// Sentinels of this package. A Backend wraps them; a client finds them with
// errors.Is in what its calls return.
var (
	ErrNotFound      = errors.New("not found")
	ErrRefused       = errors.New("refused")
	ErrUnavailable   = errors.New("not available")
	ErrBadRequest    = errors.New("bad request")
	ErrReadOnly      = errors.New("read-only socket")
	ErrTooLarge      = errors.New("request too large")
	ErrConfigInvalid = errors.New("configuration invalid")
	ErrInternal      = errors.New("routerd failed")
	ErrUnreachable   = errors.New("routerd not reachable")      // client: nobody answers
	ErrRunning       = errors.New("another routerd is running") // server: the socket is in use
)

// Code names the kind of an Error on the wire.
type Code string

const (
	CodeNotFound      Code = "not-found"
	CodeRefused       Code = "refused"
	CodeUnavailable   Code = "unavailable"
	CodeBadRequest    Code = "bad-request"
	CodeReadOnly      Code = "read-only"
	CodeTooLarge      Code = "too-large"
	CodeConfigInvalid Code = "config-invalid"
	CodeInternal      Code = "internal"
)

// kinds ties sentinel, code and HTTP status together. The first that matches wins.
var kinds = []struct {
	err    error
	code   Code
	status int
}{
	{ErrNotFound, CodeNotFound, http.StatusNotFound},
	{ErrRefused, CodeRefused, http.StatusConflict},
	{ErrUnavailable, CodeUnavailable, http.StatusServiceUnavailable},
	{ErrBadRequest, CodeBadRequest, http.StatusBadRequest},
	{ErrReadOnly, CodeReadOnly, http.StatusForbidden},
	{ErrTooLarge, CodeTooLarge, http.StatusRequestEntityTooLarge},
	{ErrConfigInvalid, CodeConfigInvalid, http.StatusUnprocessableEntity},
	{ErrInternal, CodeInternal, http.StatusInternalServerError},
}

// Error is an error as it travels: {"error": text, "code": kind}.
type Error struct {
	Message string        `json:"error"` // must stay the first member: streams tell errors from rows by it
	Code    Code          `json:"code"`
	Config  []ConfigError `json:"config-errors,omitzero"`
}

// ConfigError is one error of a configuration text. Lines and columns count from 1.
type ConfigError struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndColumn int    `json:"end-column"`
	Message   string `json:"message"`
	Excerpt   string `json:"excerpt,omitzero"`
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is(err, ErrNotFound) and its like true on the client's side.
func (e *Error) Is(target error) bool {
	for _, k := range kinds {
		if k.code == e.Code {
			return k.err == target
		}
	}
	return false
}

// wire turns err into its travelling form and HTTP status.
func wire(err error) (*Error, int) {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, k := range kinds {
			if k.code == e.Code {
				return e, k.status
			}
		}
	}
	if list, ok := errors.AsType[config.Errors](err); ok {
		return configInvalid(err, list), http.StatusUnprocessableEntity
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &Error{Message: err.Error(), Code: k.code}, k.status
		}
	}
	return &Error{Message: err.Error(), Code: CodeInternal}, http.StatusInternalServerError
}

// configInvalid carries the errors of a configuration, as text and one by one.
func configInvalid(err error, list config.Errors) *Error {
	e := &Error{Message: err.Error(), Code: CodeConfigInvalid}
	for _, d := range list {
		e.Config = append(e.Config, ConfigError(d))
	}
	return e
}

// failf makes an Error of the given code.
func failf(code Code, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Code: code}
}
