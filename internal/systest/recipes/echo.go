package recipes

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/uidring/uidring"
)

func (s *Shop) echoRoutes() http.Handler {
	e := echo.New()
	e.POST("/orders", s.echoCreate)
	e.GET("/orders/:id", s.echoShow)
	return e
}

func (s *Shop) echoCreate(c *echo.Context) error {
	var order Order
	if err := c.Bind(&order); err != nil {
		return badRequest(err)
	}
	if err := s.add(c.Request().Context(), &order); err != nil {
		return echo.NewHTTPError(http.StatusServiceUnavailable, err.Error())
	}
	return c.JSON(http.StatusCreated, order)
}

func (s *Shop) echoShow(c *echo.Context) error {
	var key struct {
		ID uidring.ID `param:"id"`
	}
	if err := c.Bind(&key); err != nil {
		return badRequest(err)
	}
	order, err := s.find(c.Request().Context(), key.ID)
	if err != nil {
		return echo.NewHTTPError(http.StatusNotFound, "no such order")
	}
	return c.JSON(http.StatusOK, order)
}

// badRequest tells the client the fault of an ID.
func badRequest(err error) error {
	if invalid, ok := errors.AsType[*uidring.InvalidError](err); ok {
		return echo.NewHTTPError(http.StatusBadRequest, invalid.Error())
	}
	return err
}
