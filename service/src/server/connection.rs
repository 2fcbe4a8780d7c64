//! Connections that a shutdown can break.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use crate::middleware::limits::ConnectionPlaces;

/// How long accepting pauses after it failed: what is short, file handles above all, is so for a while.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A connection that ends when it is cut.
pub(super) struct Connection {
    stream: TcpStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    places: ConnectionPlaces,
}

/// The connections of a listener, each for so many calls at once.
pub(super) fn accept(
    listener: TcpListener,
    cut: CancellationToken,
    max_streams: u32,
) -> impl Stream<Item = io::Result<Connection>> {
    TcpListenerStream::new(listener).then(move |accepted| {
        let cut = cut.clone();
        async move {
            match accepted {
                Ok(stream) => {
                    // Answers are small and waited for; bunching them up only costs time.
                    let _ = stream.set_nodelay(true);
                    let places = ConnectionPlaces::new(max_streams);
                    Ok(Connection { stream, cut: Box::pin(cut.cancelled_owned()), places })
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    Err(error)
                }
            }
        }
    })
}

impl Connected for Connection {
    type ConnectInfo = ConnectionPlaces;

    fn connect_info(&self) -> ConnectionPlaces {
        self.places.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
